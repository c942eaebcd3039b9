/** `grove restore`: fills an empty data folder from a backup or from mirrors. */
import { resolve } from 'node:path'
import { hasAccounts } from '../../../index/credentials/accounts.ts'
import { postgresOf } from '../../base/config.ts'
import { plural } from '../../base/plural.ts'
import type { PathProblem } from '../../domain/format/path-problem.ts'
import { indexAll } from '../../domain/indexing/reindex.ts'
import { createAccounts, findOccupant, putIntoPlace } from '../../domain/operator/restore.ts'
import { stageCopies } from '../../domain/operator/staging.ts'
import { type Call, printLine, printProblems, progressFor, requireFolder, UsageError, withDeps } from './command.ts'

/** Exit code 1 if a copy was skipped because it is damaged, or a restored one is not sound. */
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
    const indexing = progressFor('Indexing')
    const { failed } = await indexAll(deps, indexing.at)
    indexing.end()
    if (call.signal.aborted) {
      const hasFilledBoth = target.postgres !== undefined && hasCredentials && !sharesAccounts
      const filled = hasFilledBoth ? `${root} and the database of DATABASE_URL are` : `${root} is`
      printLine(`${filled} restored in part: empty ${hasFilledBoth ? 'both' : 'it'} before you restore again`)
    }
    call.signal.throwIfAborted()
    const accounts = await createAccounts(deps, problems)
    printLine(`${plural(staged.orgs.length, 'organisation')} and ${plural(staged.nodes, 'node')} restored from ${dir}`)
    if (hasCredentials && sharesAccounts) printLine('Accounts that the database has stay as they are')
    else if (hasCredentials) printLine('Accounts, passwords and sessions are those of the backup')
    if (accounts.length > 0)
      printLine('These people set a new password by POST /auth/password with this reset_token, within 7 days:')
    for (const { email, resetToken } of accounts) printLine(`${email} ${resetToken}`)
    for (const { path, reason } of staged.left) printLine(`left: ${path} ${reason}`)
    return printProblems([...problems, ...failed])
  })
}

/** A cell takes back its organisations; the accounts are those of all cells. */
async function findAccounts(call: Call, sharesAccounts: boolean): Promise<string | undefined> {
  const has = postgresOf(call.config) ? 'the database of DATABASE_URL has accounts' : 'it has accounts'
  return withDeps(call, async ({ credentials }) =>
    !sharesAccounts && (await hasAccounts(credentials.read)) ? has : undefined,
  )
}
