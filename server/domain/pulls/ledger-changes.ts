/** Changes the ledger of a node under its lock, then indexes the node. */
import { type Decision, updateRefs } from '../../../gitstore/refs/ref-transaction.ts'
import type { Oid, Repo } from '../../../gitstore/repo.ts'
import { type LedgerAccess, type Need, recheckAccess } from '../access.ts'
import type { Person } from '../actor.ts'
import { withIntent } from '../event-log/note-intents.ts'
import { tryIndexNode } from '../indexing/index-node.ts'
import { ledgerRef } from '../layout.ts'
import type { Ctx } from '../services.ts'

/**
 * Runs `decide` under the ledger's lock, after it has checked the caller again. Then indexes the node.
 *
 * @throws AppError invalid_token, forbidden; the errors of `decide`
 */
export async function changeLedger<T>(
  ctx: Ctx<Person>,
  { repo, org, node }: LedgerAccess,
  need: Need,
  decide: (ledger: Oid) => Promise<Decision<T>>,
  also: readonly { repo: Repo; ref: string }[] = [],
): Promise<T> {
  const ledger = { repo, ref: ledgerRef }
  const value = await updateRefs(ctx.store, [ledger, ...also], async (current) => {
    await recheckAccess(ctx, org.id, need)
    return withIntent(ctx, ctx.actor, await decide(current(ledger) ?? node.ledger))
  })
  await tryIndexNode(ctx, org.id, node.id)
  return value
}
