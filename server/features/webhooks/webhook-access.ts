/** Only owners manage webhooks. A token for a node reaches only the webhooks of that node. */
import type { Webhook } from '../../../index/credentials/schema.ts'
import { AppError } from '../../base/errors.ts'
import { authorizeOrg } from '../../domain/access.ts'
import type { Person } from '../../domain/actor.ts'
import type { Ctx } from '../../domain/services.ts'
import type { WebhookAt } from '../../domain/targets.ts'
import { findWebhooks } from './rows/webhooks.ts'

/** @throws AppError org_not_found, forbidden, webhook_not_found */
export async function findOwnWebhook(ctx: Ctx<Person>, at: WebhookAt): Promise<Webhook> {
  await authorizeOrg(ctx, at, 'owner')
  const row = (await findWebhooks(ctx.credentials.read, [at.webhook_id])).get(at.webhook_id)
  const isSeen = ctx.actor.onlyNode === undefined || row?.node_id === ctx.actor.onlyNode
  if (row?.org_id !== at.org_id || !isSeen) throw webhookNotFound()
  return row
}

export function webhookNotFound(): AppError {
  return new AppError('webhook_not_found', 'Webhook not found')
}
