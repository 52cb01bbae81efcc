export { signWebhook } from './signature.js'
export { startWebhook, type RunningWebhook, type WebhookDesk, type WebhookOptions } from './webhook.js'
