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
  createWebhook: async (deps, actor, { path, body }) => {
    const webhook = await webhooks.createWebhook(deps, actor, path, body)
    return withHeaders(webhook, { ...noStore, Location: `/orgs/${path.org_id}/webhooks/${webhook.id}` })
  },
  listWebhooks: (deps, actor, { path, query }) => webhooks.listWebhooks(deps, actor, path, query),
  getWebhook: (deps, actor, { path }) => webhooks.readWebhook(deps, actor, path),
  updateWebhook: (deps, actor, { path, body }) => webhooks.updateWebhook(deps, actor, path, body),
  deleteWebhook: (deps, actor, { path }) => webhooks.deleteWebhook(deps, actor, path),
  rotateWebhookSecret: async (deps, actor, { path }) =>
    withHeaders(await webhooks.rotateSecret(deps, actor, path), noStore),
  pingWebhook: (deps, actor, { path, from, signal }) => webhooks.pingWebhook(deps, { actor, from, signal }, path),
  listDeliveries: (deps, actor, { path, query }) => deliveries.listDeliveries(deps, actor, path, query),
  getDelivery: (deps, actor, { path }) => deliveries.readDelivery(deps, actor, path),
  redeliverDelivery: (deps, actor, { path }) => deliveries.redeliver(deps, actor, path),
  redeliverFailed: (deps, actor, { path, body }) => deliveries.redeliverFailed(deps, actor, path, body),
}
