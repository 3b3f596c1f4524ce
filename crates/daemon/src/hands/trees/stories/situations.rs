//! The situations that the stories have to come to.

numaestro_marks::marks! {
    /// A situation of a story.
    pub(super) enum Seen {
        KilledBeforeMove = "the manager is killed before one of its moves",
        KilledUnsaved = "the manager is killed after a move that the state file does not know",
        KilledTwice = "the next manager is killed too",
        NoFile = "a manager takes over without a state file",
        FileNamesTheGone = "the state file names a process that has ended",
        FileLacksOne = "the state file does not name a program that is managed",
        WaitsOverDeath = "a `run` waits while the manager dies",
        AsksNarrow = "a `run` that waits comes to the next manager before it has gone back",
        AnsweredAsFormer = "a `run` asks again, and is answered as the one it was",
        EnteredAnew = "a `run` asks again, and comes anew",
        OwnIsNarrow = "a program is moved whose user gave it a part of the machine",
        BornNarrow = "a process is born on a mask of ours",
        Orphaned = "a program ends, and leaves a narrow process",
        LeavesNarrow = "a program leaves while it is on a mask of ours",
        AsksBelow = "a `run` comes from a program that is on a mask of ours",
        LeavesAround = "a program leaves within another application",
        StopsSeveral = "`stop` ends the management of several programs",
        StopsNobody = "`stop` finds nobody who is managed",
    }
}
