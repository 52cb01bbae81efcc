export type { AllowedUser } from './people.js'
export { telegramConnector, type TelegramConnector, type TelegramOptions } from './telegram.js'
