/* kmp_names.h - the functions that libomp exports, by their effect on a team that is held open.
 *
 * NM_KMP_LOOKS: sequential code may call it, and it looks at the calling thread's team. The shim
 * dissolves the held team first. NM_KMP_SETS: the same, and it changes settings that members of a
 * team take over, or shows them all. NM_KMP_..._FORTRAN: there is a name with `_` too, and for
 * settings one with `_8_` (libgomp's, for integers of 8 bytes). Functions with wrappers of their
 * own are in kmp.c, kmp_inside.c and told.c; harmless ones in kmp_outside.c. A program that imports
 * anything else of libomp is not folded in user space.
 */
#ifndef NUMAESTRO_KMP_NAMES_H
#define NUMAESTRO_KMP_NAMES_H

#define NM_KMP_LOOKS(X)                                                                                                 \
    X(__kmpc_dist_for_static_init_4)                                                                                    \
    X(__kmpc_dist_for_static_init_4u)                                                                                   \
    X(__kmpc_dist_for_static_init_8)                                                                                    \
    X(__kmpc_dist_for_static_init_8u)                                                                                   \
    X(__kmpc_team_static_init_4)                                                                                        \
    X(__kmpc_team_static_init_4u)                                                                                       \
    X(__kmpc_team_static_init_8)                                                                                        \
    X(__kmpc_team_static_init_8u)                                                                                       \
    X(__kmpc_for_static_fini)                                                                                           \
    X(__kmpc_dispatch_init_4)                                                                                           \
    X(__kmpc_dispatch_init_4u)                                                                                          \
    X(__kmpc_dispatch_init_8)                                                                                           \
    X(__kmpc_dispatch_init_8u)                                                                                          \
    X(__kmpc_dist_dispatch_init_4)                                                                                      \
    X(__kmpc_dist_dispatch_init_4u)                                                                                     \
    X(__kmpc_dist_dispatch_init_8)                                                                                      \
    X(__kmpc_dist_dispatch_init_8u)                                                                                     \
    X(__kmpc_dispatch_next_4)                                                                                           \
    X(__kmpc_dispatch_next_4u)                                                                                          \
    X(__kmpc_dispatch_next_8)                                                                                           \
    X(__kmpc_dispatch_next_8u)                                                                                          \
    X(__kmpc_dispatch_fini_4)                                                                                           \
    X(__kmpc_dispatch_fini_4u)                                                                                          \
    X(__kmpc_dispatch_fini_8)                                                                                           \
    X(__kmpc_dispatch_fini_8u)                                                                                          \
    X(__kmpc_dispatch_deinit)                                                                                           \
    X(__kmpc_sections_init)                                                                                             \
    X(__kmpc_next_section)                                                                                              \
    X(__kmpc_end_sections)                                                                                              \
    X(__kmpc_doacross_init)                                                                                             \
    X(__kmpc_doacross_post)                                                                                             \
    X(__kmpc_doacross_fini)                                                                                             \
    X(__kmpc_end_ordered)                                                                                               \
    X(__kmpc_single)                                                                                                    \
    X(__kmpc_end_single)                                                                                                \
    X(__kmpc_master)                                                                                                    \
    X(__kmpc_end_master)                                                                                                \
    X(__kmpc_masked)                                                                                                    \
    X(__kmpc_end_masked)                                                                                                \
    X(__kmpc_scope)                                                                                                     \
    X(__kmpc_end_scope)                                                                                                 \
    X(__kmpc_cancel)                                                                                                    \
    X(__kmpc_cancellationpoint)                                                                                         \
    X(__kmpc_omp_task_alloc)                                                                                            \
    X(__kmpc_omp_target_task_alloc)                                                                                     \
    X(__kmpc_omp_wait_deps)                                                                                             \
    X(__kmpc_omp_taskwait)                                                                                              \
    X(__kmpc_omp_taskwait_deps_51)                                                                                      \
    X(__kmpc_omp_taskyield)                                                                                             \
    X(__kmpc_omp_reg_task_with_affinity)                                                                                \
    X(__kmpc_taskgroup)                                                                                                 \
    X(__kmpc_end_taskgroup)                                                                                             \
    X(__kmpc_task_allow_completion_event)                                                                               \
    X(__kmpc_task_reduction_init)                                                                                       \
    X(__kmpc_taskred_init)                                                                                              \
    X(__kmpc_task_reduction_modifier_init)                                                                              \
    X(__kmpc_taskred_modifier_init)                                                                                     \
    X(__kmpc_task_reduction_modifier_fini)                                                                              \
    X(__kmpc_task_reduction_get_th_data)                                                                                \
    X(__kmpc_get_taskid)                                                                                                \
    X(__kmpc_get_parent_taskid)                                                                                         \
    X(__kmpc_global_num_threads)                                                                                        \
    X(__kmpc_bound_thread_num)                                                                                          \
    X(__kmpc_bound_num_threads)                                                                                         \
    X(__kmpc_in_parallel)                                                                                               \
    X(__kmpc_push_proc_bind)                                                                                            \
    X(__kmpc_push_num_teams)                                                                                            \
    X(__kmpc_push_num_teams_51)                                                                                         \
    X(__kmpc_pause_resource)

#define NM_KMP_LOOKS_FORTRAN(X)                                                                                         \
    X(omp_get_ancestor_thread_num)                                                                                      \
    X(omp_get_team_size)                                                                                                \
    X(omp_get_dynamic)                                                                                                  \
    X(omp_get_nested)                                                                                                   \
    X(omp_get_max_active_levels)                                                                                        \
    X(omp_get_schedule)                                                                                                 \
    X(omp_get_proc_bind)                                                                                                \
    X(omp_get_thread_limit)                                                                                             \
    X(omp_get_default_device)                                                                                           \
    X(omp_get_default_allocator)                                                                                        \
    X(omp_get_num_teams)                                                                                                \
    X(omp_get_team_num)                                                                                                 \
    X(omp_get_max_teams)                                                                                                \
    X(omp_get_teams_thread_limit)                                                                                       \
    X(omp_in_final)                                                                                                     \
    X(omp_get_num_places)                                                                                               \
    X(omp_get_place_num_procs)                                                                                          \
    X(omp_get_place_proc_ids)                                                                                           \
    X(omp_get_place_num)                                                                                                \
    X(omp_get_partition_num_places)                                                                                     \
    X(omp_get_partition_place_nums)                                                                                     \
    X(omp_display_affinity)                                                                                             \
    X(omp_capture_affinity)                                                                                             \
    X(omp_control_tool)                                                                                                 \
    X(omp_fulfill_event)                                                                                                \
    X(kmp_get_blocktime)                                                                                                \
    X(kmp_get_library)                                                                                                  \
    X(kmp_get_stacksize)                                                                                                \
    X(kmp_get_stacksize_s)                                                                                              \
    X(kmp_get_num_known_threads)

#define NM_KMP_SETS(X) X(__kmpc_set_default_allocator)

#define NM_KMP_SETS_FORTRAN(X)                                                                                          \
    X(omp_pause_resource)                                                                                               \
    X(omp_pause_resource_all)                                                                                           \
    X(omp_set_nested)                                                                                                   \
    X(omp_set_max_active_levels)                                                                                        \
    X(omp_set_schedule)                                                                                                 \
    X(omp_set_default_device)                                                                                           \
    X(omp_set_default_allocator)                                                                                        \
    X(omp_set_num_teams)                                                                                                \
    X(omp_set_teams_thread_limit)                                                                                       \
    X(omp_display_env)                                                                                                  \
    X(omp_set_affinity_format)                                                                                          \
    X(kmp_set_blocktime)                                                                                                \
    X(kmp_set_defaults)                                                                                                 \
    X(kmp_set_library)                                                                                                  \
    X(kmp_set_library_serial)                                                                                           \
    X(kmp_set_library_turnaround)                                                                                       \
    X(kmp_set_library_throughput)                                                                                       \
    X(kmp_set_stacksize)                                                                                                \
    X(kmp_set_stacksize_s)                                                                                              \
    X(kmp_set_disp_num_buffers)

#endif
