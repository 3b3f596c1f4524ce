! Fortran: allocatable work arrays sized by omp_get_max_threads(), a copied-in common block, workshare and reductions.
program fortran
   use omp_lib
   use iso_fortran_env, only: int64, error_unit
   implicit none
   integer, parameter :: n = 4000
   integer :: cell(n), twice(n), i, t, slots, wrong
   integer(int64), allocatable :: part(:)
   integer(int64) :: total, start, now, rate, seed
   double precision :: seconds
   character(len=32) :: argument
   common /shared_seed/ seed
!$omp threadprivate(/shared_seed/)

   call get_command_argument(1, argument)
   seconds = 1d0
   if (len_trim(argument) > 0) read (argument, *) seconds
   slots = omp_get_max_threads()
   allocate (part(0:slots - 1))
   call system_clock(start, rate)
   do
      part = 0
      cell = 0
      wrong = 0
      seed = seed + 1
!$omp parallel private(t) copyin(/shared_seed/) reduction(+:wrong)
      t = omp_get_thread_num()
      if (seed < 1) wrong = wrong + 1
!$omp do schedule(guided)
      do i = 1, n
         cell(i) = cell(i) + i
         part(t) = part(t) + i
      end do
!$omp workshare
      twice = 2*cell
!$omp end workshare
!$omp end parallel
      total = sum(part)
      if (total /= int(n, int64)*(n + 1)/2 .or. any(twice /= [(2*i, i=1, n)]) .or. wrong /= 0) then
         write (error_unit, *) 'wrong: total ', total, ' threads without the seed ', wrong
         stop 1
      end if
      call system_clock(now)
      if (dble(now - start)/dble(rate) > seconds) exit
   end do
   print '(a,1x,i0)', 'fortran', total
end program fortran
