/** Webhooks and their deliveries. Responses with secrets are never cached. */

import type { Handlers } from '../../http/contract/operations.ts'
import { createdAt, withSecret } from '../../http/responses/responses.ts'
import type { Feature } from '../feature.ts'
import { forgetDeliveries, getDelivery, listDeliveries, redeliverDelivery, redeliverFailed } from './deliveries.ts'
import { deliveryPage, webhookPage } from './pages/webhook.tsx'
import { webhooksPage } from './pages/webhooks.tsx'
import { countAllPending } from './rows/deliveries.ts'
import { findOldestPlanned } from './rows/hook-states.ts'
import { sendWebhooks } from './sender.ts'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  pingWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from './webhooks.ts'

const operations = {
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

export const webhooks = {
  operations,
  pages: [
    { at: '/o/{org}/settings/webhooks', ...webhooksPage },
    { at: '/o/{org}/settings/webhooks/{webhook}', ...webhookPage },
    { at: '/o/{org}/settings/webhooks/{webhook}/{delivery}', ...deliveryPage },
  ],
  jobs: () => [
    {
      chore: 'deliveries',
      everyMs: 60 * 60_000,
      work: forgetDeliveries,
      failed: 'old deliveries of webhooks could not be removed',
    },
  ],
  loops: [sendWebhooks],
  gauges: async ({ metrics, events }) => metrics.webhooksPending.set(await countAllPending(events.read)),
  oldestNeeded: ({ events }, orgId) => findOldestPlanned(events.read, orgId),
} satisfies Feature
