export type { AllowedUser } from './pairings.js'
export { telegramConnector, type TelegramConnector, type TelegramOptions } from './telegram.js'
