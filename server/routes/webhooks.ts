/** Webhooks and their deliveries. Responses with secrets are never cached. */
import { getDelivery, listDeliveries, redeliverDelivery, redeliverFailed } from '../domain/webhooks/deliveries.ts'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  pingWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from '../domain/webhooks/webhooks.ts'
import type { Handlers } from '../http/contract/operations.ts'
import { createdAt, withSecret } from '../http/responses/responses.ts'

export const webhookRoutes = {
  createWebhook: withSecret(createdAt('/orgs/{org_id}/webhooks/{id}', createWebhook)),
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret: withSecret(rotateWebhookSecret),
  pingWebhook,
  listDeliveries,
  getDelivery,
  redeliverDelivery,
  redeliverFailed,
} satisfies Partial<Handlers>
