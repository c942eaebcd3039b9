/** `grove restore`: restores a backup or mirrors into an empty data folder. */
import { join, resolve } from 'node:path'
import { hasAccounts } from '../../../index/credentials/accounts.ts'
import { postgresOf } from '../../base/config.ts'
import { plural } from '../../base/plural.ts'
import { operator } from '../../domain/actor.ts'
import { audit } from '../../domain/audit/audit.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { indexAll } from '../../domain/indexing/reindex.ts'
import { createAccounts, findOccupant, putIntoPlace } from '../../domain/operator/restore.ts'
import { stageCopies } from '../../domain/operator/staging.ts'
import { commandOf, listReturned } from '../../domain/review/erased-list.ts'
import type { Services } from '../../domain/services.ts'
import { findUnfinished, finishMerge, lacksMerge } from '../../domain/sets/unfinished.ts'
import { type Call, printLine, printProblems, progressFor, requireFolder, UsageError, withDeps } from './command.ts'

/** Restores a backup. Returns 1 if a damaged copy was skipped, or a restored copy is damaged. */
export async function restoreFrom(call: Call, source: string): Promise<number> {
  const dir = resolve(source)
  const root = call.config.dataDir
  await requireFolder(dir)
  const sharesAccounts = call.config.cell !== undefined
  const occupant = (await findOccupant(root)) ?? (await findAccounts(call, sharesAccounts))
  if (occupant !== undefined) throw new UsageError(`${root} is not an empty data folder: ${occupant}`)
  const copying = progressFor('Copying')
  const staged = await stageCopies(root, dir, call.signal, copying.at)
  copying.end()
  const problems: PathProblem[] = [...staged.problems]
  const target = { root, postgres: postgresOf(call.config), sharesAccounts }
  const hasCredentials = await putIntoPlace(target, dir, staged, problems)
  return withDeps(call, async (deps) => {
    for (const orgId of staged.orgs) problems.push(...(await finishMerges(deps, orgId)))
    const indexing = progressFor('Indexing')
    const { failed } = await indexAll(deps, indexing.at)
    indexing.end()
    if (call.signal.aborted) {
      const hasFilledBoth = target.postgres !== undefined && hasCredentials && !sharesAccounts
      const filled = hasFilledBoth ? `${root} and the database of DATABASE_URL are` : `${root} is`
      printLine(`${filled} only partly restored. Empty ${hasFilledBoth ? 'both' : 'it'} before you restore again`)
    }
    call.signal.throwIfAborted()
    const accounts = await createAccounts(deps, problems)
    const counts = { organisations: staged.orgs.length, nodes: staged.nodes, new_accounts: accounts.length }
    await audit(deps, { action: 'data.restored', actor: operator, detail: counts })
    printLine(`${plural(staged.orgs.length, 'organisation')} and ${plural(staged.nodes, 'node')} restored from ${dir}`)
    if (hasCredentials && sharesAccounts) printLine('Accounts in the database were not changed')
    else if (hasCredentials) printLine('Accounts, passwords and sessions were restored from the backup')
    if (accounts.length > 0)
      printLine('These users can set a new password within 7 days, with POST /auth/password and this reset_token:')
    for (const { email, resetToken } of accounts) printLine(`${email} ${resetToken}`)
    for (const orgId of staged.orgs)
      for (const back of await listReturned(deps.store, orgId))
        printLine(`erased at ${back.at}, and is there again; run: ${commandOf(back)}`)
    for (const { path, reason } of staged.left) printLine(`skipped: ${path} ${reason}`)
    return printProblems([...problems, ...failed])
  })
}

/** Moves pages forward that were copied before the merge of their change set. Returns those that cannot be. */
async function finishMerges(deps: Services, orgId: string): Promise<PathProblem[]> {
  const problems: PathProblem[] = []
  for (const one of await findUnfinished(deps, orgId)) {
    const path = join(orgId, `${one.item.node_id}.git`)
    if (one.isBehind) await finishMerge(deps, one)
    if (one.isBehind) printLine(`moved forward: ${path} was copied before change set ${one.set.number} merged`)
    else problems.push({ path, reason: lacksMerge(one) })
  }
  return problems
}

/** Describes existing accounts, which prevent a restore. Not for a cell, because cells share their accounts. */
async function findAccounts(call: Call, sharesAccounts: boolean): Promise<string | undefined> {
  const has = postgresOf(call.config) ? 'the database of DATABASE_URL has accounts' : 'it has accounts'
  return withDeps(call, async ({ credentials }) =>
    !sharesAccounts && (await hasAccounts(credentials.read)) ? has : undefined,
  )
}
