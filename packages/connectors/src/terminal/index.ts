export { terminalConnector, type TerminalConnector, type TerminalOptions } from './terminal.js'
