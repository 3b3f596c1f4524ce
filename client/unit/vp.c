/* vp.c - tests virtual processors against a small manager of the test's own: every call, one after
 * the other.
 */
#include "vps.h"

#include <sched.h>

/* -- Vps that do as they are told -------------------------------------------------------------- */

enum order { NOTHING, REGISTER, RELEASE, CLAIM, HANDOFF, ASKED, NONE, END };

struct actor {
    pthread_t thread;
    int number, argument;
    _Atomic int order;
    _Atomic int answer;
};
static struct actor actors[16];

static void *act(void *argument)
{
    struct actor *it = argument;
    for (;;) {
        int order = it->order;
        switch (order) {
        case NOTHING:
            usleep(200);
            continue;
        case REGISTER:
            it->answer = numaestro_vp_register(it->number);
            break;
        case RELEASE:
            it->answer = numaestro_vp_release(it->number);
            break;
        case CLAIM:
            it->answer = numaestro_vp_claim();
            break;
        case HANDOFF:
            it->answer = numaestro_vp_handoff(it->argument);
            break;
        case ASKED:
            it->answer = numaestro_asked_back();
            break;
        case NONE:
            it->answer = numaestro_vp_register(NUMAESTRO_VP_NONE);
            break;
        default:
            return NULL;
        }
        it->order = NOTHING;
    }
}

static void tell(int number, enum order order, int argument)
{
    actors[number].argument = argument;
    actors[number].order = order;
}

static int ask(int number, enum order order, int argument)
{
    tell(number, order, argument);
    comes(actors[number].order == NOTHING);
    return actors[number].answer;
}

static void start_actors(int count)
{
    for (int i = 0; i < count; i++) {
        actors[i] = (struct actor){.number = i};
        pthread_create(&actors[i].thread, NULL, act, &actors[i]);
    }
}

static void end_actors(int count)
{
    for (int i = 0; i < count; i++) {
        comes(actors[i].order == NOTHING);
        actors[i].order = END;
        pthread_join(actors[i].thread, NULL);
    }
}

static struct numaestro_vp info(int number)
{
    struct numaestro_vp vp;
    expect(numaestro_vp_info(number, &vp) == NUMAESTRO_OK);
    return vp;
}

static int state(int number)
{
    return info(number).state;
}

static bool is_on(int number, int processor)
{
    struct numaestro_vp vp = info(number);
    return vp.state == NUMAESTRO_VP_RUNNING && vp.processor == processor;
}

static uint64_t word(int number)
{
    return nm_client.page->vp[number];
}

/* -- Tests ------------------------------------------------------------------------------------- */

static void without_manager(void)
{
    struct numaestro_vp vp;
    errno = 4711;
    expect(numaestro_current() == numaestro_processors() && numaestro_asked_back() == 0);
    expect(numaestro_vp_register(-2) == NUMAESTRO_E_INVALID && numaestro_vp_register(NUMAESTRO_VPS) == NUMAESTRO_E_INVALID);
    expect(numaestro_vp_claim() == NUMAESTRO_E_INVALID && numaestro_vp_handoff(1) == NUMAESTRO_E_INVALID);
    expect(numaestro_vp_register(3) == NUMAESTRO_E_UNMANAGED && numaestro_current() == 1);
    expect(numaestro_vp_info(3, &vp) == 0 && vp.state == NUMAESTRO_VP_RUNNING && vp.processor == -1 && vp.thread == gettid());
    expect(numaestro_vp_release(3) == NUMAESTRO_E_UNMANAGED && numaestro_vp_release(4) == NUMAESTRO_E_INVALID);
    expect(numaestro_vp_claim() == NUMAESTRO_NO_WORK && numaestro_vp_preempted() == 0);
    expect(numaestro_vp_register(NUMAESTRO_VP_NONE) == NUMAESTRO_OK && state(3) == NUMAESTRO_VP_UNUSED);
    expect(numaestro_vp_info(256, &vp) == NUMAESTRO_E_INVALID && numaestro_vp_info(0, NULL) == NUMAESTRO_E_INVALID);
    expect(numaestro_report_speedup(0, 1) == NUMAESTRO_E_INVALID && numaestro_report_speedup(2, 0) == NUMAESTRO_E_INVALID);
    expect(numaestro_report_speedup(2, 1900) == NUMAESTRO_E_UNMANAGED && errno == 4711);
    nm_forget();
    nm_helper_forget();
}

/* A thread that no manager manages any more runs where the program puts it, however often the
 * helper finds the manager dead. */
static void stays_where_it_was_put(int thread)
{
    cpu_set_t one, found;
    CPU_ZERO(&one);
    CPU_SET(1, &one); /* the decision in force is processor 0 */
    if (sched_setaffinity(thread, sizeof one, &one) != 0)
        return;
    nm_vp_abandon();
    expect(sched_getaffinity(thread, sizeof found, &found) == 0 && CPU_EQUAL(&one, &found));
}

static void *waits_for_a_processor(void *registered)
{
    numaestro_vp_register(7);
    *(_Atomic bool *)registered = true;
    numaestro_vp_release(7);
    return NULL;
}

/* A parked vp can be cancelled, and joined. */
static void ends_although_parked(void)
{
    pthread_t thread;
    static _Atomic bool registered;
    pthread_create(&thread, NULL, waits_for_a_processor, &registered);
    comes(registered && state(7) == NUMAESTRO_VP_UNALLOCATED);
    pthread_cancel(thread);
    comes(state(7) == NUMAESTRO_VP_UNUSED);
    pthread_join(thread, NULL);
}

/* Four processors, five vps; then the manager takes processors back, first while vps release them
 * and then while none does. */
static void one_by_one(void)
{
    attach(0xf);
    expect(numaestro_current() == 4 && numaestro_asked_back() == 0);
    expect(said->value[NM_HELLO] & NM_RUNTIME_API);
    struct numaestro_page *page = nm_client.page;
    start_actors(6);
    for (int i = 0; i < 5; i++)
        expect(ask(i, REGISTER, 0) == NUMAESTRO_OK);
    expect(ask(5, RELEASE, 0) == NUMAESTRO_E_INVALID && ask(5, CLAIM, 0) == NUMAESTRO_E_INVALID);
    int used = 0;
    for (int i = 0; i < 4; i++)
        used |= 1 << info(i).processor;
    expect(used == 0xf && state(4) == NUMAESTRO_VP_STOLEN && numaestro_current() == 4 && numaestro_vp_preempted() == 1);
    expect((word(0) >> 48 & 0xff) == NM_VP_RUNNING && (uint32_t)word(0) == (uint32_t)info(0).thread);
    expect(numaestro_vp_register(2) == NUMAESTRO_E_INVALID);

    /* A stolen vp has no processor to give, and is asked to park. */
    expect(ask(4, CLAIM, 0) == NUMAESTRO_NO_WORK && ask(4, ASKED, 0) == 1 && ask(0, ASKED, 0) == 0);
    /* A vp can be claimed only once; a new claim, or the claimer's end, makes the first void. */
    expect(ask(0, CLAIM, 0) == 4 && ask(1, CLAIM, 0) == NUMAESTRO_NO_WORK && numaestro_vp_preempted() == 0);
    expect(ask(1, HANDOFF, 4) == NUMAESTRO_E_INVALID && ask(0, CLAIM, 0) == 4 && state(4) == NUMAESTRO_VP_CLAIMED);
    int given = info(0).processor;
    tell(0, HANDOFF, 4);
    comes(is_on(4, given));
    expect(state(0) == NUMAESTRO_VP_UNALLOCATED && info(0).processor == -1 && numaestro_current() == 4);
    comes(said->count[NM_DEMAND] > 0 && said->value[NM_DEMAND] == 4);

    /* A vp that releases while none is stolen leaves a processor idle; the manager hears of it. */
    int idle = info(4).processor;
    tell(4, RELEASE, 0);
    comes(said->value[NM_DEMAND] == 3);
    expect(state(4) == NUMAESTRO_VP_UNALLOCATED && info(4).processor == idle && actors[4].order == RELEASE);
    /* The manager takes the idle processor: no vp is asked for one. */
    uint64_t rest = 0xf & ~(1ull << idle);
    decide(page, 0, rest);
    comes(in_force() && page->helper.folded == 0);
    expect(info(4).processor == -1 && numaestro_current() == 3 && numaestro_vp_preempted() == 0);

    /* The manager wants two of three back; each vp that comes to a safe point gives one, and none
     * is stolen. */
    int keep = info(1).processor;
    decide(page, 0, 1ull << keep);
    comes(numaestro_asked_back() == 2);
    tell(1, RELEASE, 0); /* its own processor stays: it goes to a vp that would have lost its own */
    comes(numaestro_asked_back() == 1);
    expect(is_on(2, keep) || is_on(3, keep));
    tell(is_on(2, keep) ? 3 : 2, RELEASE, 0);
    comes(in_force() && numaestro_asked_back() == 0);
    expect(page->helper.folded == 0 && numaestro_vp_preempted() == 0 && numaestro_current() == 1);
    expect(said->value[NM_DEMAND] == 3); /* they left because they were asked to */

    /* All processors come back, and so do the vps. */
    decide(page, 0, 0xf);
    comes(numaestro_current() == 4);
    int parked = 0;
    for (int i = 0; i < 5; i++)
        parked += state(i) == NUMAESTRO_VP_UNALLOCATED;
    expect(parked == 1);

    /* No vp comes to a safe point: they are stolen, but never stopped. */
    decide(page, 0, 1);
    comes(in_force());
    expect(page->helper.folded == 1 && numaestro_vp_preempted() == 3 && numaestro_current() == 1);
    for (int i = 0; i < 5; i++)
        if (state(i) == NUMAESTRO_VP_STOLEN)
            expect(ask(i, ASKED, 0) == 1);
    /* The manager dies: no vp stays parked. */
    kill_manager();
    for (int i = 0; i < 5; i++)
        comes(actors[i].order == NOTHING && state(i) == NUMAESTRO_VP_RUNNING);
    expect(numaestro_vp_preempted() == 0 && ask(0, RELEASE, 0) == NUMAESTRO_E_UNMANAGED);
    for (int i = 0; i < 5; i++)
        stays_where_it_was_put(info(i).thread);
    /* The next manager's decision holds for the vps, too. */
    attach(0x3);
    expect(numaestro_current() == 2 && numaestro_vp_preempted() == 3 && (word(0) >> 48) != 0);
    end_actors(6);
    expect(nm_vp_table.count == 0);
    kill_manager();
}

/* Idle processors of the program go to the vps for which it asks. */
static void requests(void)
{
    attach(0x7);
    start_actors(3);
    for (int i = 0; i < 3; i++)
        expect(ask(i, REGISTER, 0) == NUMAESTRO_OK);
    tell(1, RELEASE, 0);
    tell(2, RELEASE, 0);
    comes(said->value[NM_DEMAND] == 1 && said->count[NM_DEMAND] > 0);
    expect(numaestro_request(2) == NUMAESTRO_OK);
    comes(actors[1].order == NOTHING && actors[1].answer == NUMAESTRO_OK);
    expect(numaestro_current() == 2 && actors[2].order == RELEASE);
    comes(said->value[NM_DEMAND] == 2 && said->value[NM_REQUEST] == 2);
    /* Binding to a processor that this machine does not have fails, but the program does not
     * notice. */
    errno = 4711;
    expect(numaestro_request(0) == NUMAESTRO_OK && errno == 4711);
    comes(actors[2].order == NOTHING && numaestro_current() == 3);
    ends_although_parked();
    expect(numaestro_report_speedup(3, 2500) == NUMAESTRO_OK);
    comes(said->value[NM_SPEEDUP] == 3 && said->second[NM_SPEEDUP] == 2500);

    /* The last vp that is not parked comes back by itself. */
    tell(1, RELEASE, 0);
    tell(2, RELEASE, 0);
    comes(state(1) == NUMAESTRO_VP_UNALLOCATED && state(2) == NUMAESTRO_VP_UNALLOCATED);
    expect(ask(0, RELEASE, 0) == NUMAESTRO_OK);
    /* That vp ends: another one goes on. */
    expect(ask(0, NONE, 0) == NUMAESTRO_OK);
    comes(actors[1].order == NOTHING);
    expect(state(0) == NUMAESTRO_VP_UNUSED && word(0) == 0 && state(1) == NUMAESTRO_VP_RUNNING);

    /* The child of a fork has no vps. */
    pid_t child = fork();
    if (child == 0)
        _exit(nm_vp_table.count != 0 || nm_client.attached);
    int status = -1;
    waitpid(child, &status, 0);
    expect(status == 0);

    /* The manager lets the program go, and no vp is parked any more. */
    decide(nm_client.page, NM_FLAG_RELEASED, 0x7);
    comes(actors[2].order == NOTHING && actors[2].answer == NUMAESTRO_E_UNMANAGED);
    expect(ask(1, RELEASE, 0) == NUMAESTRO_E_UNMANAGED);
    end_actors(3);
    expect(state(1) == NUMAESTRO_VP_UNUSED);
    kill_manager();
}

struct waiter {
    uint32_t seen;
    _Atomic int processors; /* after the change, 0 while it waits */
};

static void *wait_change(void *argument)
{
    struct waiter *it = argument;
    it->seen = numaestro_wait_change(it->seen, 60000);
    it->processors = numaestro_current();
    return NULL;
}

/* Threads wait for decisions and requests, and miss none that came before they wait. */
static void changes(void)
{
    pthread_t thread;
    attach(0x7);
    struct waiter it = {.seen = numaestro_wait_change(0, 0)};
    for (int step = 0; step < 3; step++) {
        uint32_t before = it.seen;
        it.processors = 0;
        pthread_create(&thread, NULL, wait_change, &it);
        if (step > 0)
            comes(nm_client.waiters == 1);
        if (step < 2)
            decide(nm_client.page, 0, step == 0 ? 0x3 : 0x7);
        else
            expect(numaestro_request(1) == NUMAESTRO_OK);
        comes(it.processors == (step == 0 ? 2 : 3));
        pthread_join(thread, NULL);
        expect(it.seen == before + 1 && nm_client.waiters == 0);
    }
    /* Processors that are lent are the program's own, and it asks for them while it waits. */
    decide(nm_client.page, NM_FLAG_LENT, 0x1);
    comes(in_force());
    expect(numaestro_current() == 1 && numaestro_owned() == 3);
    uint32_t seen = numaestro_wait_change(0, 0), asked = said->count[NM_BUSY];
    expect(numaestro_wait_change(seen, 1500) == seen);
    comes(said->count[NM_BUSY] == asked + 1);
    decide(nm_client.page, 0, 0x3);
    comes(numaestro_owned() == 2);
    /* The request of before holds under the next manager. */
    kill_manager();
    attach(0x7);
    comes(said->value[NM_REQUEST] == 1 && nm_client.page->request.requested == 1);
    kill_manager();
}

int main(void)
{
    begin();
    without_manager();
    one_by_one();
    requests();
    changes();
    printf("ok vp: virtual processors are registered, stolen, claimed, handed over, parked and woken, and threads wait for changes\n");
    return 0;
}
