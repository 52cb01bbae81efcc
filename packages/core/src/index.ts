export { steadyClock, jumpAwareClock, type Clock, type LocalTime } from './clock.js'
export { newId } from './ids.js'
export {
  defineInteraction,
  type InteractionKind,
  type AcceptedAnswer,
  type Reprompt,
  type StandardSchema,
} from './kinds/kinds.js'
export { describeKind, type DescribedKind } from './kinds/describe-kind.js'
export { memoryStore } from './store/memory-store.js'
export type * from './store/store.js'
export type { Caller, PersonCaller, Role } from './decide/caller.js'
export type { ReportedEvent } from './decide/command.js'
export { PROTECTED_PATHS, type EditScope } from './decide/edit-target.js'
export { type ReadLink } from './decide/resolve-path.js'
export type { ApprovalRule } from './decide/rules.js'
export type { ToolCallAnswer } from './desk/commands/tool-calls.js'
export type { DeskOptions, Opened, ReadOptions, SessionSnapshot, WaitOptions } from './desk/desk-options.js'
export type { OpenInput, Repeatable } from '@askback/protocol'
export type { BoundDesk } from './desk/bound-desk.js'
export type { DeskReader } from './desk/desk-reader.js'
export { createDesk, type Desk } from './desk/desk.js'
export type { Advance, DurableSeq, Follower, Head } from './desk/committed.js'
export type { AllSessionsListener, GoneListener, Listener } from './desk/listeners.js'
export type { AskOptions, SessionDefaults, SessionHandle } from './desk/session.js'
export type {
  Answered,
  Approved,
  ApprovalSettlement,
  Cancelled,
  Denied,
  FormSettlement,
  PlanReviewSettlement,
  QuestionSettlement,
  Settlement,
  Superseded,
  TimedOut,
  Undecided,
} from './desk/settlement.js'
export type { StopSignal } from './desk/waiters.js'
export { memoryBus, storeOnBus, type Bus, type BusMessage } from './cluster/bus.js'
export { Leases, type Lease, type LeaseEvents, type LeasesOptions } from './cluster/leases.js'
export type {
  AgentAdapter,
  AgentContext,
  AgentProcess,
  Availability,
  LiveDelta,
  AgentEnd,
} from './agents/agent.js'
export { createHost, type BoundHost, type Host, type HostOptions } from './agents/host.js'
export type { LiveListener } from './agents/live-feed.js'
