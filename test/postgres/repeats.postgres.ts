/** Transactions on PostgreSQL that meet, and those whose statements fail. */
import { expect } from 'chai'
import { sql } from 'kysely'
import { findAccountById, insertAccount, setAccountSeen } from '../../index/credentials/accounts.ts'
import { credentialsMigrations } from '../../index/credentials/migrations.ts'
import type { CredentialsSchema } from '../../index/credentials/schema.ts'
import { openPostgres, type PostgresDatabase } from '../../index/postgres/database.ts'
import { isDuplicate } from '../../index/sqlite/database.ts'
import { DatabaseBusyError } from '../../index/sqlite/database-fault.ts'
import { databaseFor } from '../support/postgres.ts'

describe('a transaction on PostgreSQL', () => {
  let db: PostgresDatabase<CredentialsSchema>

  before(async () => {
    db = await openPostgres({ url: await databaseFor(`repeats ${process.pid}`), connections: 4 }, credentialsMigrations)
    for (const id of ['a', 'b']) await db.write((trx) => insertAccount(trx, accountOf(id)))
  })
  after(() => db?.close())

  const accountOf = (id: string) => {
    return { id, email: `${id}@example.org`, name: id, password_hash: 'secret hash', created_at: '', org_id: 'o' }
  }

  it('that another and it wait for each other is run again, as a whole', async () => {
    let [runs, holding] = [0, 0]
    const seen = (first: string, second: string) =>
      db.write(async (trx) => {
        const run = ++runs
        await setAccountSeen(trx, first, `${run}`)
        holding++
        // Until the other transaction holds its first row, too; the one that is repeated waits for no other.
        while (run <= 2 && holding < 2) await sql`select pg_sleep(0.01)`.execute(trx)
        await setAccountSeen(trx, second, `${run}`)
      })
    // PostgreSQL looks for a circle after a second.
    await Promise.all([seen('a', 'b'), seen('b', 'a')])
    // On a busy machine the one that is run again may meet the other once more.
    expect(runs).to.be.within(3, 5)
    const [a, b] = await Promise.all(['a', 'b'].map((id) => findAccountById(db.read, id)))
    expect(a?.last_seen_at).to.equal(b?.last_seen_at)
  })

  it('that PostgreSQL cannot serialize is run again whole, and so at most six times', async () => {
    // Read committed never ends so by itself; engines that speak its protocol do. A sequence does not go back with a transaction.
    await sql`create sequence attempts`.execute(db.read)
    await sql`create function refuse_before() returns trigger language plpgsql as $$ begin
      if nextval('attempts') < tg_argv[0]::int then raise exception 'refused' using errcode = '40001'; end if;
      return new; end $$`.execute(db.read)
    const refused = async (before: number) => {
      await sql`alter sequence attempts restart`.execute(db.read)
      await sql
        .raw(
          `create trigger refuse before update on account for each row when (new.id = 'b') execute function refuse_before(${before})`,
        )
        .execute(db.read)
      let runs = 0
      const work = db.write(async (trx) => {
        runs++
        await setAccountSeen(trx, 'a', `run ${runs} before ${before}`)
        await setAccountSeen(trx, 'b', `run ${runs} before ${before}`)
      })
      const said = await work.catch((error: unknown) => error)
      await sql`drop trigger refuse on account`.execute(db.read)
      const rows = await Promise.all(['a', 'b'].map((id) => findAccountById(db.read, id)))
      return { runs, said, seen: rows.map((row) => row?.last_seen_at) }
    }
    const kept = Array(2).fill('run 6 before 6')
    expect(await refused(6)).to.deep.equal({ runs: 6, said: undefined, seen: kept })
    const { runs, said, seen } = await refused(7)
    expect({ runs, seen }).to.deep.equal({ runs: 6, seen: kept })
    expect(said).to.be.instanceOf(DatabaseBusyError)
  })

  it('is kept as a whole or not at all, also if an error of a statement is swallowed', async () => {
    const said = await db
      .write(async (trx) => {
        await setAccountSeen(trx, 'a', 'not kept')
        await trx
          .insertInto('account')
          .values({ ...accountOf('a'), email_key: 'c' })
          .execute()
          .catch(() => undefined)
      })
      .catch((error: Error) => error.message)
    expect(said).to.equal('A statement of the transaction failed; nothing was saved')
    expect((await findAccountById(db.read, 'a'))?.last_seen_at).to.not.equal('not kept')
  })

  it('that is refused a duplicate says so without the values of the row', async () => {
    const error = await db
      .write((trx) =>
        trx
          .insertInto('account')
          .values({ ...accountOf('a'), email_key: 'c' })
          .execute(),
      )
      .catch((thrown: unknown) => thrown)
    expect(isDuplicate(error)).to.equal(true)
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).to.not.match(/secret hash|Key \(/)
  })
})
