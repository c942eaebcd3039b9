/** Restores a data folder from mirrors, with the accounts of a backup or new ones. */

import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { v7 as newId } from 'uuid'
import { syncDirectory, syncPath } from '../../../gitstore/durable.ts'
import { listNames } from '../../../gitstore/fs-exists.ts'
import { openRegular } from '../../../gitstore/regular-files.ts'
import { moveRepo } from '../../../gitstore/repo-folders.ts'
import { findAccountById, insertAccount, isDeletedAccount } from '../../../index/credentials/accounts.ts'
import { copyToPostgres } from '../../../index/credentials/copies.ts'
import { listMemberships } from '../../../index/derived/org-queries.ts'
import { findDatabaseDamage } from '../../../index/sqlite/backup.ts'
import { DatabaseError } from '../../../index/sqlite/database.ts'
import { botRow } from '../accounts/bot-accounts.ts'
import { hashRandomPassword } from '../accounts/passwords.ts'
import { issueResetToken } from '../accounts/sessions.ts'
import { parseBotEmail } from '../format/bots.ts'
import { parseHiddenEmail } from '../format/hidden-emails.ts'
import type { PathProblem } from '../format/path-problem.ts'
import { credentialsFile, eventsFile, isId, runFolder, stagingFolder, vectorsFile } from '../layout.ts'
import { listLiveProcesses } from '../live-processes.ts'
import type { Services } from '../services.ts'
import type { Source } from './backup.ts'
import { hashOfFile, type Manifest } from './manifest.ts'
import type { Staged } from './staging.ts'

/** Returns why a data folder cannot be restored into. Undefined: it is empty and unused. */
export async function findOccupant(root: string): Promise<string | undefined> {
  const names = await listNames(root)
  if (names.some(isId)) return 'it has organisations'
  if (names.includes(stagingFolder))
    return `another restore is running, or was interrupted: if none is running, remove ${join(root, stagingFolder)}`
  const isUsed = (await listLiveProcesses(runFolder(root))).length > 0
  return isUsed ? 'a service or a command is using it' : undefined
}

/** The data folder to fill. `sharesAccounts`: its database may have the accounts of several cells. */
type Target = Source & { readonly sharesAccounts: boolean }

/**
 * Moves the accounts and then the staged repositories into place.
 *
 * @returns false if the accounts are not the backup's
 * @throws errors of `placeCredentials`
 */
export async function putIntoPlace(
  { root, postgres, sharesAccounts }: Target,
  dir: string,
  staged: Staged,
  problems: PathProblem[],
): Promise<boolean> {
  try {
    const hasCredentials = await placeCredentials({ root, postgres, sharesAccounts }, dir, staged.manifest, problems)
    for (const one of replaceable) await placeReplaceable(root, dir, one, staged.manifest, problems)
    await placeOrgs(root, staged)
    return hasCredentials
  } finally {
    await rm(join(root, stagingFolder), { recursive: true, force: true })
  }
}

/**
 * Copies the accounts of a backup into the data folder or its database. No process has the folder open.
 *
 * @returns false if there are no usable accounts; the reason is added to `problems`
 * @throws system errors. An unreadable file is not treated as damaged, because all members would get new accounts.
 * @throws DatabaseError
 */
async function placeCredentials(
  { root, postgres, sharesAccounts }: Target,
  dir: string,
  manifest: Manifest | undefined,
  problems: PathProblem[],
): Promise<boolean> {
  const making = await stageDatabase(root, dir, credentialsFile, problems)
  if (typeof making === 'object') {
    const { damage, isMissing } = making
    if (damage !== undefined)
      problems.push({ path: credentialsFile, reason: `damaged; all members get new accounts: ${damage}` })
    else if (isMissing && manifest?.credentials)
      problems.push({ path: credentialsFile, reason: 'is missing, but the manifest lists it' })
    return false
  }
  if (manifest && manifest.credentials?.sha256 !== (await hashOfFile(join(dir, credentialsFile))))
    problems.push({ path: credentialsFile, reason: notListed })
  if (postgres) {
    const filled = await copyToPostgres(making, postgres)
    if (filled === 'has accounts' && !sharesAccounts)
      throw new DatabaseError('storage_error', 'The database of DATABASE_URL already has accounts')
    return true
  }
  await placeDatabase(root, making, credentialsFile)
  return true
}

/** A database without which the service begins another one. */
interface Replaceable {
  readonly name: string
  /** Its member of the manifest. */
  readonly member: 'events' | 'vectors'
  /** The consequence of its loss. */
  readonly loss: string
}

const replaceable: readonly Replaceable[] = [
  { name: eventsFile, member: 'events', loss: 'cursors of the events are gone, and the audit begins again' },
  { name: vectorsFile, member: 'vectors', loss: 'a service with a model embeds all texts again' },
]

/** Copies such a database of a backup, if there is one, into the data folder. @throws system errors */
async function placeReplaceable(
  root: string,
  dir: string,
  { name, member, loss }: Replaceable,
  manifest: Manifest | undefined,
  problems: PathProblem[],
): Promise<void> {
  const making = await stageDatabase(root, dir, name, problems)
  const listed = manifest?.[member]
  if (typeof making === 'object') {
    if (making.damage !== undefined) problems.push({ path: name, reason: `damaged; ${loss}: ${making.damage}` })
    else if (listed && making.isMissing)
      problems.push({ path: name, reason: `is missing, but the manifest lists it; ${loss}` })
    return
  }
  if (listed && listed.sha256 !== (await hashOfFile(join(dir, name)))) problems.push({ path: name, reason: notListed })
  await placeDatabase(root, making, name)
}

const notListed = 'is not the file that the manifest lists; it is intact, and was used'

/** Why a database of the backup is not used. */
interface Unstaged {
  readonly isMissing?: boolean
  readonly damage?: string
}

/** Copies a database of the backup to the staging folder, and checks it. Returns its path. @throws system errors */
async function stageDatabase(
  root: string,
  dir: string,
  name: string,
  problems: PathProblem[],
): Promise<string | Unstaged> {
  const file = await openRegular(join(dir, name))
  if (file === undefined) return { isMissing: true }
  if (typeof file === 'string') {
    problems.push({ path: name, reason: `${file}, and was not read` })
    return {}
  }
  const making = join(root, stagingFolder, name)
  await pipeline(file.createReadStream(), createWriteStream(making, { flags: 'wx', mode: 0o600 }))
  const damage = findDatabaseDamage(making)
  if (damage !== undefined) return { damage }
  for (const end of ['-wal', '-shm']) await rm(`${making}${end}`, { force: true })
  return making
}

/** Renames a staged database into place, instead of the one that is there. */
async function placeDatabase(root: string, making: string, name: string): Promise<void> {
  await syncPath(making)
  for (const end of ['', '-wal', '-shm']) await rm(join(root, `${name}${end}`), { force: true })
  await rename(making, join(root, name))
  await syncDirectory(root)
}

/** Renames the staged organisations into place, which makes them visible. */
async function placeOrgs(root: string, { orgs }: Staged): Promise<void> {
  const staging = join(root, stagingFolder)
  for (const id of orgs) {
    await syncDirectory(join(staging, id))
    await moveRepo(join(staging, id), join(root, id))
  }
}

export interface NewAccount {
  readonly email: string
  /** For `POST /auth/password`. Works once. */
  readonly resetToken: string
}

/**
 * Creates an account for each member without one, unless their account was deleted. It has the same id and a random
 * password. Bots get neither a password nor their former tokens. The organisations are already indexed. Returns the
 * accounts of users, sorted by e-mail address.
 */
export async function createAccounts(deps: Services, problems: PathProblem[]): Promise<NewAccount[]> {
  const members = await listMemberships(deps.index.read)
  const password_hash = await hashRandomPassword(deps)
  const accounts: NewAccount[] = []
  for (const id of [...new Set(members.map((member) => member.user_id))]) {
    const { read } = deps.credentials
    if (!isId(id) || (await findAccountById(read, id)) || (await isDeletedAccount(read, id))) continue
    const mine = members.filter((member) => member.user_id === id)
    // An organisation's creator joined it when it was created. A user's first own organisation came with the account.
    const own = mine.filter(({ role }) => role === 'owner')
    const first = own.find((one) => one.created_at === one.org_created_at) ?? own[0]
    const profile = first ?? mine[0]
    if (!profile) continue
    const { email, name } = profile
    const [created_at = ''] = mine.map((member) => member.created_at).sort()
    if (parseBotEmail(email) === id) {
      const bot = botRow({ org_id: profile.org_id }, name, { id, created_at, created_by: null })
      await deps.credentials.write((trx) => insertAccount(trx, bot))
      continue
    }
    const hide_email = parseHiddenEmail(email) === id ? (1 as const) : (0 as const)
    const account = {
      id,
      email,
      name,
      password_hash,
      created_at,
      org_id: first?.org_id ?? newId(),
      hide_email,
      has_password: 0 as const,
    }
    if (await deps.credentials.write((trx) => insertAccount(trx, account)))
      accounts.push({ email, resetToken: (await issueResetToken(deps, id)).reset_token })
    else problems.push({ path: email, reason: `two users have this e-mail address; ${id} gets no account` })
  }
  return accounts.sort((a, b) => (a.email < b.email ? -1 : 1))
}
