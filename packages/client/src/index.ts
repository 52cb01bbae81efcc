export { systemClock, type Clock, type Timing } from '@askback/protocol'
export type * from './asking/askback.js'
export {
  Asked,
  NotAnswered,
  type AskOutcome,
  type GivenAnswer,
  type MissingAnswer,
  type MissingReason,
} from './asking/asked.js'
export { connect } from './asking/connect.js'
export type { AskableDesk, DeskPerson, DeskTarget } from './asking/desk-port.js'
export type { GatewayTarget } from './asking/gateway-port.js'
export { CallFailed } from './asking/stored-result.js'
export type {
  CardBlock,
  Container,
  Layout,
  LayoutBlock,
  ToolBlock,
  ToolStatus,
  TurnLayout,
} from './layout/layout-model.js'
export { createLayout, layout } from './layout/layout.js'
export { LiveBlocks, type LiveBlock } from './layout/live-blocks.js'
export type { DirectDesk, DirectHost, DirectPerson } from './transport/direct-host.js'
export { DirectTransport, type DirectTransportOptions } from './transport/direct-transport.js'
export type { Fetch } from './transport/http-calls.js'
export { HttpTransport, type HttpTransportOptions } from './transport/http-transport.js'
export type { WebSocketConstructor, WebSocketLike } from './transport/socket-connection.js'
export { storedLogin, type StoredLogin } from './transport/stored-login.js'
export type * from './transport/transport.js'
export { WebSocketTransport, type WebSocketTransportOptions } from './transport/web-socket-transport.js'
export { createClient, type Client, type ClientOptions } from './stores/client.js'
export type { InboxStore, InboxView, NewRequest } from './stores/inbox-store.js'
export type { Outbox, OutboxStorage, Submission, SubmissionResult } from './stores/outbox.js'
export { timeLeft } from './stores/server-clock.js'
export type { ConnectionStatus } from './stores/session-feed.js'
export type { SessionListStore, SessionListView } from './stores/session-list-store.js'
export type { SessionStore, SessionView } from './stores/session-store.js'
export { approveTool, denyTool, submitAnswers, type AnswerTarget } from './stores/tool-answers.js'
