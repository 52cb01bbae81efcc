export type { CardBody, CardControl, CardPart, ClosedCard, TextCard } from './cards/card.js'
export { connectorCommands, runCommand, type CommandInput, type SurfaceHelp } from './runner/commands.js'
export type { Connector, ConnectorContext, ConnectorPlace, InputResult } from './runner/connector.js'
export {
  connectorDesk,
  type ConnectorDesk,
  type ConnectorDeskOptions,
  type PersonActions,
} from './runner/connector-desk.js'
export { runConnector, type ConnectorOptions, type RunningConnector } from './runner/runner.js'
