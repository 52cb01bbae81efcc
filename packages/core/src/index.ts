export { AGENT_LOST, MAX_OUTPUT_BYTES } from './report.js'
export { auditRow } from './audit.js'
export type { ToolCallAnswer } from './answer-tool-call.js'
export { memoryBus, storeOnBus, type Bus, type BusMessage } from './bus.js'
export { systemClock, type Clock } from './clock.js'
export type { Reported } from './command.js'
export { createDesk, type Desk } from './desk.js'
export type { DeskOptions, Opened, OpenInput, Origin, SessionSnapshot } from './desk-options.js'
export { doorbell, type Doorbell } from './doorbell.js'
export type { Listener } from './listeners.js'
export { newId } from './ids.js'
export {
  defineInteraction,
  parseWith,
  type InteractionKind,
  type Outcome,
  type Reprompt,
  type StandardSchema,
} from './kinds.js'
export { Leases, type Lease, type LeaseEvents, type LeasesOptions } from './leases.js'
export type { IsInside } from './lookups.js'
export { memoryStore } from './memory-store.js'
export { DEFAULT_TIMEOUT_MS } from './prepare-request.js'
export { planEffect } from './plan-review.js'
export * from './records.js'
export type { ApprovalRule } from './rules.js'
export type { AskOptions, SessionDefaults, SessionHandle } from './session.js'
export { replay } from './session-log.js'
export type { Settlement } from './settlement.js'
export type * from './store.js'
export type { StopSignal } from './waiters.js'
export type { AgentAdapter, AgentContext, AgentProcess, Availability, Delta, Ending } from './agent.js'
export { createHost, type Host, type HostOptions } from './host.js'
export type { LiveListener } from './live-feed.js'
export type { Connector, ConnectorDesk, ConnectorLine, Place, Told } from './connector.js'
export type { Card, CardInput, CardStep, CardView, ClosedCard, Control, Part } from './connector-card.js'
export { connectorCommands, runCommand, type CommandInput } from './connector-commands.js'
export { connectorDesk } from './connector-desk.js'
export { runConnector, type ConnectorOptions, type RunningConnector } from './connector-runner.js'
