! Fortran: do, workshare, reductions over arrays, threadprivate common blocks, copyin, sections, tasks, single with copyprivate,
! ordered, nested regions and allocatable private data. It prints a digest for each part, as the programs in C do, and repeats
! all parts for the seconds of its argument.
module shared_words
    use omp_lib
    use iso_fortran_env, only: int64, real64
    implicit none
    integer, parameter :: most = 1100
    integer :: kept
    real(real64) :: held(4)
    common /store/ held, kept
    !$omp threadprivate(/store/)
    integer(int64) :: digest, first(32) = 0
    integer(int64) :: seen(0:most)
    integer :: round = 0, size = 0
contains
    subroutine note(value)
        integer(int64), intent(in) :: value
        digest = mixed(digest, value)
    end subroutine

    ! The order counts; all numbers stay small enough for every integer.
    pure function mixed(before, value) result(after)
        integer(int64), intent(in) :: before, value
        integer(int64) :: after
        after = mod(mod(before, 2147483647_int64) * 48271_int64 + mod(abs(value), 2147483647_int64) + 12345_int64, 2147483647_int64)
    end function

    subroutine note_seen(count)
        integer, intent(in) :: count
        integer :: i
        do i = 0, count - 1
            call note(seen(i))
        end do
    end subroutine

    subroutine note_real(value)
        real(real64), intent(in) :: value
        call note(transfer(value, 0_int64) / 2)
    end subroutine

    subroutine part(name, number, run)
        character(len=*), intent(in) :: name
        integer, intent(in) :: number
        interface
            subroutine run()
            end subroutine
        end interface
        digest = 7
        seen = 0
        call run()
        if (round == 0) then
            first(number) = digest
            print '(a, 1x, i0)', name, digest
        else if (first(number) /= digest) then
            write (0, '(3a, i0)') 'wrong: ', name, ' in round ', round
            error stop 1
        end if
    end subroutine
end module

module parts
    use shared_words
    implicit none
contains
    subroutine loops()
        integer :: i, last
        real(real64) :: x(500)
        !$omp parallel do schedule(static) private(i)
        do i = 1, 500
            x(i) = 1.0_real64 / i + omp_get_thread_num()
        end do
        !$omp parallel private(i)
        !$omp do schedule(guided)
        do i = 500, 1, -1
            x(i) = x(i) * 0.5_real64
        end do
        !$omp end do
        !$omp do schedule(dynamic, 3)
        do i = 1, 500, 3
            x(i) = x(i) + 0.125_real64
        end do
        !$omp end do nowait
        !$omp do lastprivate(last)
        do i = 1, 77
            last = i
        end do
        !$omp end do
        !$omp end parallel
        call note(int(last, int64))
        do i = 1, 500
            call note_real(x(i))
        end do
    end subroutine

    subroutine shares()
        real(real64) :: a(60, 60), b(60, 60), total
        integer :: i
        do i = 1, 60
            b(:, i) = i
        end do
        !$omp parallel shared(a, b, total)
        !$omp workshare
        a = 2.0_real64 * b
        where (a > 50.0_real64) b = a + 1.0_real64
        total = sum(b)
        forall (i = 1:60) a(i, i) = -1.0_real64
        !$omp end workshare
        !$omp end parallel
        call note_real(total)
        do i = 1, 60
            call note_real(a(i, i) + b(i, 7))
        end do
    end subroutine

    subroutine reductions()
        integer(int64) :: total(8), least, odd
        logical :: every
        integer :: i
        total = 0
        least = 1000000
        odd = 0
        every = .true.
        !$omp parallel do reduction(+:total) reduction(min:least) reduction(ieor:odd) reduction(.and.:every) schedule(dynamic, 7)
        do i = 1, 900
            total(mod(i, 8) + 1) = total(mod(i, 8) + 1) + i
            least = min(least, int(mod(i * 7919, 10007) + 3, int64))
            odd = ieor(odd, int(i * 13, int64))
            every = every .and. i > 0
        end do
        do i = 1, 8
            call note(total(i))
        end do
        call note(least)
        call note(odd)
        call note(merge(1_int64, 0_int64, every))
    end subroutine

    ! A common block of each thread, over barriers and from region to region.
    subroutine commons()
        integer :: r
        kept = 3
        held = 0.25_real64
        !$omp parallel copyin(kept, held)
        kept = kept + omp_get_thread_num()
        !$omp end parallel
        do r = 1, 12
            !$omp parallel
            held(mod(r, 4) + 1) = held(mod(r, 4) + 1) + kept
            !$omp barrier
            kept = kept + 1
            seen(omp_get_thread_num()) = mixed(seen(omp_get_thread_num()), int(sum(held) * 4, int64) + kept)
            !$omp end parallel
        end do
        call note_seen(size)
    end subroutine

    subroutine one_for_all()
        integer :: r, x
        integer(int64) :: order
        order = 1
        !$omp parallel private(r, x) shared(order)
        x = 0
        do r = 1, 25
            !$omp single
            x = 3 * r
            !$omp end single copyprivate(x)
            seen(omp_get_thread_num()) = mixed(seen(omp_get_thread_num()), int(x, int64))
            !$omp sections
            !$omp section
            !$omp atomic
            order = order + 1
            !$omp section
            !$omp atomic
            order = order + 100
            !$omp end sections
            !$omp master
            !$omp atomic
            order = order + 10000
            !$omp end master
            !$omp critical (named)
            order = order + 0
            !$omp end critical (named)
            !$omp barrier
        end do
        !$omp do ordered schedule(dynamic)
        do r = 1, 100
            !$omp ordered
            order = mixed(order, int(r, int64))
            !$omp end ordered
        end do
        !$omp end parallel
        call note(order)
        call note_seen(size)
    end subroutine

    recursive function fib(n) result(f)
        integer, intent(in) :: n
        integer(int64) :: f, a, b
        if (n < 2) then
            f = n
            return
        end if
        !$omp task shared(a) if(n > 8)
        a = fib(n - 1)
        !$omp end task
        b = fib(n - 2)
        !$omp taskwait
        f = a + b
    end function

    subroutine tasks()
        integer(int64) :: f, cell(50)
        integer :: i
        !$omp parallel
        !$omp single
        f = fib(14)
        !$omp taskloop grainsize(3)
        do i = 1, 50
            cell(i) = i * 17
        end do
        !$omp end taskloop
        !$omp end single
        !$omp end parallel
        call note(f)
        call note(fib(9))
        do i = 1, 50
            call note(cell(i))
        end do
    end subroutine

    subroutine allocated()
        real(real64), allocatable :: own(:), out(:)
        integer :: r, me
        allocate (own(20), out(0:most))
        own = 1.5_real64
        out = 0.0_real64
        do r = 1, 5
            !$omp parallel firstprivate(own) private(me)
            me = omp_get_thread_num()
            own = own * (me + r)
            !$omp barrier
            out(me) = out(me) + sum(own)
            !$omp end parallel
        end do
        do r = 0, size - 1
            call note_real(out(r))
        end do
    end subroutine

    subroutine nested()
        integer(int64) :: all, mine
        all = 0
        call omp_set_max_active_levels(2)
        !$omp parallel num_threads(min(size, 3)) private(mine) reduction(+:all)
        mine = 0
        !$omp parallel num_threads(2) reduction(+:mine)
        mine = mine + omp_get_thread_num() + 10 * omp_get_level() + 100 * omp_get_num_threads()
        !$omp end parallel
        all = all + mine * (omp_get_thread_num() + 1)
        !$omp end parallel
        call omp_set_max_active_levels(1)
        call note(all)
    end subroutine

    subroutine sizes()
        integer :: r, n
        do r = 1, 6
            n = max(1, size * mod(r, 4) / 2)
            call omp_set_num_threads(n)
            call note(int(omp_get_max_threads(), int64))
            !$omp parallel
            seen(omp_get_thread_num()) = mixed(seen(omp_get_thread_num()), int(omp_get_num_threads(), int64))
            !$omp end parallel
        end do
        call omp_set_num_threads(size)
        call note_seen(2 * size)
    end subroutine
end module

program words
    use parts
    implicit none
    character(len=32) :: text
    real(real64) :: until
    call get_command_argument(1, text)
    until = omp_get_wtime()
    if (len_trim(text) > 0) then
        block
            real(real64) :: seconds
            read (text, *) seconds
            until = until + seconds
        end block
    end if
    size = omp_get_max_threads()
    do
        call part('loops', 1, loops)
        call part('workshare', 2, shares)
        call part('reductions', 3, reductions)
        call part('common', 4, commons)
        call part('single', 5, one_for_all)
        call part('tasks', 6, tasks)
        call part('allocated', 7, allocated)
        call part('nested', 8, nested)
        call part('sizes', 9, sizes)
        round = round + 1
        if (omp_get_wtime() >= until) exit
    end do
end program
