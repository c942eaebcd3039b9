/** Lists, counts and copies of credentials: the same rows in the same order on both engines, whatever their letters. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { insertAccessToken, listAccessTokens } from '../../index/credentials/access-tokens.ts'
import { countAccounts, insertAccount, listAccounts } from '../../index/credentials/accounts.ts'
import { copyFromPostgres, copyToPostgres, deleteRows, haveSameRows } from '../../index/credentials/copies.ts'
import { insertInvitation, listOpenInvitations } from '../../index/credentials/invitations.ts'
import { credentialsMigrations } from '../../index/credentials/migrations.ts'
import {
  listCardsOf,
  listCardsWithOwners,
  listOrgsElsewhere,
  putCard,
  putCardMembers,
} from '../../index/credentials/org-cards.ts'
import { insertPendingMembership, listPendingMemberships } from '../../index/credentials/pending-memberships.ts'
import { listChangedPlaces } from '../../index/credentials/place-changes.ts'
import type { CredentialsDb, CredentialsSchema } from '../../index/credentials/schema.ts'
import { insertSession, listOpenSessions } from '../../index/credentials/sessions.ts'
import { insertTokenKey, listTokenKeys } from '../../index/credentials/token-keys.ts'
import { openPostgres, type PostgresDatabase } from '../../index/postgres/database.ts'
import { type Database, openDatabase } from '../../index/sqlite/database.ts'
import { newDataDir } from '../support/data-folder.ts'
import { databaseFor } from '../support/postgres.ts'

const word = fc.string({ unit: fc.constantFrom(...'aAbBzZäÄöÖßeéE019-_ .%\\'), minLength: 1, maxLength: 4 })
const words = fc.uniqueArray(word, { minLength: 2, maxLength: 8 })
const all = { limit: 100, offset: 0 }
/** The order of some texts is the same by chance. */
const seed = { seed: 15, numRuns: 30 }

describe('both engines', () => {
  let folder: string
  let address: { readonly url: string; readonly connections: number }
  let sqlite: Database<CredentialsSchema>
  let postgres: PostgresDatabase<CredentialsSchema>

  before(async () => {
    folder = await newDataDir()
    address = { url: await databaseFor(folder), connections: 2 }
    postgres = await openPostgres(address, credentialsMigrations)
    sqlite = await openDatabase(join(folder, 'credentials.sqlite'), credentialsMigrations, { synchronous: 'NORMAL' })
  })
  after(async () => {
    await postgres?.close()
    await sqlite?.close()
    if (folder !== undefined) await rm(folder, { recursive: true })
  })

  it('order and find text alike', async () => {
    await fc.assert(
      fc.asyncProperty(words, words, async (ids, times) => {
        const seen: unknown[] = []
        for (const { write, read } of [sqlite, postgres]) {
          await write(deleteRows)
          await write((trx) => fill(trx, ids, times))
          seen.push(await readAll(read, ids))
        }
        expect(seen[1]).to.deep.equal(seen[0])
        expect(await haveSameRows(sqlite.read, postgres.read)).to.equal(true)
      }),
      seed,
    )
  })

  it('hold the same after rows went to a file and back', async () => {
    await postgres.write(deleteRows)
    await postgres.write((trx) => fill(trx, ['ä', 'A', 'a', 'Z'], ['1', '2']))
    const file = join(folder, 'copy.sqlite')
    await copyFromPostgres(address, file)
    expect(await copyToPostgres(file, address)).to.equal('same')
    await postgres.write((trx) => trx.updateTable('session').set({ address: 'elsewhere' }).execute())
    expect(await copyToPostgres(file, address)).to.equal('has accounts')
    await postgres.write(deleteRows)
    expect(await copyToPostgres(file, address)).to.equal('copied')
    expect(await copyToPostgres(file, address)).to.equal('same')
  })
})

async function fill(trx: CredentialsDb, ids: readonly string[], times: readonly string[]): Promise<void> {
  const owner = ids[0] ?? ''
  for (const [n, id] of ids.entries()) {
    const created_at = times[n % times.length] ?? ''
    const expires_at = '9'
    await insertAccount(trx, { id, email: `${id}${n}`, name: id, password_hash: '', created_at, org_id: 'o' })
    const used = { revoked_at: null, last_used_at: null, user_agent: null, address: null, method: null }
    await insertSession(trx, {
      ...used,
      id,
      account_id: owner,
      created_at,
      identity_id: null,
      confirmed_at: null,
      cookie_hash: id,
      last_used_at: '2999-01-01',
    })
    const bounds = { org_id: null, node_id: null, expires_at: null, last_used_at: null }
    const token = { id, hash: id, account_id: owner, name: id, access: 'read' as const, hint: '', created_at }
    await insertAccessToken(trx, { ...token, ...bounds })
    const invitation = { id, hash: id, org_id: 'o', role: 'reader' as const, email_key: null, uses_left: 1 }
    await insertInvitation(trx, { ...invitation, expires_at, created_by: null, created_at })
    await insertTokenKey(trx, { kid: id, jwk: '{}', created_at, active_from: created_at, retired_at: null })
    await insertPendingMembership(trx, {
      account_id: id,
      org_id: 'o',
      role: 'reader',
      invited_by: null,
      created_at: `${n}`,
    })
    await fillDirectory(trx, { id, owner, created_at, since: n % times.length })
  }
}

/** A cell and an organisation of that name; times are stated, as SQLite has no clock of PostgreSQL's. */
async function fillDirectory(
  trx: CredentialsDb,
  { id, owner, created_at, since }: { id: string; owner: string; created_at: string; since: number },
): Promise<void> {
  await trx.insertInto('cell').values({ name: id, url: id, epoch: 1, until: 0, open: 1, weight: 1 }).execute()
  const place = { org_id: id, cell: id, epoch: 1, state: 'here' as const, target: null, since }
  await trx.insertInto('place').values(place).execute()
  const settings = { description: '', vault_id: null, published: 0, require_pull_requests: 0 }
  await putCard(trx, { org_id: id, head: '', name: id, ...settings, created_at, updated_at: created_at })
  const member = { org_id: id, role: 'owner' as const, email: '' }
  await putCardMembers(
    trx,
    [...new Set([owner, id])].map((user_id) => ({ ...member, user_id, name: user_id })),
  )
}

/** Owners by organisation: of several organisations nothing says which one's are first. */
async function cardsWithOwners(db: CredentialsDb, orgIds: readonly string[]): Promise<unknown> {
  const { rows, owners, total } = await listCardsWithOwners(db, all)
  return [rows, total, orgIds.map((id) => owners.filter(({ org_id }) => org_id === id))]
}

async function readAll(db: CredentialsDb, ids: readonly string[]): Promise<unknown> {
  const owner = ids[0] ?? ''
  const found = []
  for (const orgId of ids)
    found.push((await listChangedPlaces(db, { since: 0, orgId }, 100)).map(({ org_id }) => org_id))
  for (const q of ids)
    found.push([
      await countAccounts(db, { q, state: 'all' }),
      (await listAccounts(db, { q: q.toUpperCase(), state: 'active' }, all)).map(({ id }) => id),
    ])
  return [
    found,
    await listAccounts(db, { state: 'all' }, all),
    await listAccessTokens(db, owner, all),
    await listOpenSessions(db, owner, '1970-01-01T00:00:00.000Z', all),
    await listOpenInvitations(db, 'o', '', all),
    await listTokenKeys(db),
    await listPendingMemberships(db, 100),
    await listCardsOf(db, owner, all),
    await cardsWithOwners(db, ids),
    await listOrgsElsewhere(db, owner, owner),
    await listChangedPlaces(db, { since: -1, orgId: '' }, 100),
  ]
}
