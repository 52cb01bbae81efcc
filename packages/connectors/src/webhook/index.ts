export {
  signWebhook,
  startWebhook,
  type RunningWebhook,
  type WebhookDesk,
  type WebhookOptions,
} from './webhook.js'
