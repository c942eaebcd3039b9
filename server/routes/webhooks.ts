/** Webhooks and their deliveries. Responses with secrets are never cached. */
import * as deliveries from '../domain/webhooks/deliveries.ts'
import * as webhooks from '../domain/webhooks/webhooks.ts'
import type { HandlersOf } from '../http/contract/operations.ts'
import { noStore, withHeaders } from '../http/responses/responses.ts'

export const webhookRoutes: HandlersOf<
  | 'createWebhook'
  | 'listWebhooks'
  | 'getWebhook'
  | 'updateWebhook'
  | 'deleteWebhook'
  | 'rotateWebhookSecret'
  | 'pingWebhook'
  | 'listDeliveries'
  | 'getDelivery'
  | 'redeliverDelivery'
  | 'redeliverFailed'
> = {
  createWebhook: async (ctx, { path, body }) => {
    const webhook = await webhooks.createWebhook(ctx, path, body)
    return withHeaders(webhook, { ...noStore, Location: `/orgs/${path.org_id}/webhooks/${webhook.id}` })
  },
  listWebhooks: (ctx, { path, query }) => webhooks.listWebhooks(ctx, path, query),
  getWebhook: (ctx, { path }) => webhooks.readWebhook(ctx, path),
  updateWebhook: (ctx, { path, body }) => webhooks.updateWebhook(ctx, path, body),
  deleteWebhook: (ctx, { path }) => webhooks.deleteWebhook(ctx, path),
  rotateWebhookSecret: async (ctx, { path }) => withHeaders(await webhooks.rotateSecret(ctx, path), noStore),
  pingWebhook: (ctx, { path }) => webhooks.pingWebhook(ctx, path),
  listDeliveries: (ctx, { path, query }) => deliveries.listDeliveries(ctx, path, query),
  getDelivery: (ctx, { path }) => deliveries.readDelivery(ctx, path),
  redeliverDelivery: (ctx, { path }) => deliveries.redeliver(ctx, path),
  redeliverFailed: (ctx, { path, body }) => deliveries.redeliverFailed(ctx, path, body),
}
