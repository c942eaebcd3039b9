/** A proxy receives all changes of the places of organisations. */

import { expect } from 'chai'
import pg from 'pg'
import { v7 as newId } from 'uuid'
import { databaseNow } from '../../index/credentials/cells.ts'
import { insertPlaces, setPlaceState } from '../../index/credentials/places.ts'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { database, here, setUrl, signIn, there, useCells } from './scene.ts'

interface Place {
  readonly org_id: string
  readonly cell: string
  readonly url: string
  readonly state: string
}

describe('the list of places', () => {
  // The sweep tells of organisations that have no folder.
  useCells({ sweeps: false })
  let ada: PersonClient

  before(async () => {
    await setUrl('here', here.url)
    const person = await signUp(here, 'Ada')
    await updateAccount(
      { ...here.deps, actor: operator },
      { path: { account_id: person.user.id }, body: { is_admin: true } },
    )
    ada = await signIn(there, person)
  })

  /** All pages from there on, and where the next walk begins. */
  async function walk(since?: string, between = async () => {}): Promise<{ places: Place[]; next: string }> {
    const places: Place[] = []
    for (let next = since; ; await between()) {
      const query = next === undefined ? '' : `&since=${next}`
      const { body } = await ada.get(`/admin/places?limit=2${query}`).then(expecting(200))
      places.push(...body.places)
      next = body.next
      if (!body.more) return { places, next: body.next }
    }
  }

  async function make(count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId())
    for (const id of ids) await here.deps.credentials.write((trx) => insertPlaces(trx, 'here', [id], 'here'))
    return ids
  }

  const settle = () =>
    here.deps.credentials.write((trx) =>
      trx
        .updateTable('place')
        .set((of) => ({ since: of('since', '-', 120_000) }))
        .execute(),
    )

  it('has each organisation once, with the address of its cell, and then what has changed', async () => {
    const ids = await make(7)
    const claim = newId()
    await here.deps.credentials.write((trx) => insertPlaces(trx, 'here', [claim], 'making'))
    await settle()
    const { places, next } = await walk()
    expect(places.map(({ org_id }) => org_id)).to.deep.equal([ada.org, ...ids])
    for (const { cell, url, state } of places) expect([cell, url, state]).to.deep.equal(['here', here.url, 'here'])
    expect((await walk(next)).places).to.deep.equal([])
    const [gone = ''] = ids
    await here.deps.credentials.write((trx) => setPlaceState(trx, 'here', gone, 'gone'))
    expect((await walk(next)).places).to.deep.equal([{ org_id: gone, cell: 'here', url: here.url, state: 'gone' }])
  })

  it('has what is committed only after a walk has passed its time, and what changes during one', async () => {
    await make(5)
    const { next: begin } = await walk()
    const [late, early] = [newId(), newId()]
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    await client.query('begin')
    const { sql } = here.deps.credentials.read.selectNoFrom(databaseNow.as('now')).compile()
    const { rows } = await client.query(sql)
    const columns = 'org_id, cell, epoch, state, since'
    await client.query(`insert into place (${columns}) values ($1, 'here', 1, 'here', $2)`, [late, rows[0].now])
    await make(1)
    let changed = false
    const walked = await walk(begin, async () => {
      if (changed) return
      changed = true
      await here.deps.credentials.write((trx) => insertPlaces(trx, 'there', [early], 'here'))
    })
    await client.query('commit')
    await client.end()
    const seen = walked.places.map(({ org_id }) => org_id)
    expect(seen).to.include(early).and.to.not.include(late)
    expect((await walk(walked.next)).places.map(({ org_id }) => org_id)).to.include(late)
  })

  it('is refused with a cursor that it has not said', async () => {
    for (const since of ['x', '1.2', `1.${newId()}`, "1' or 1=1"])
      expect((await ada.get(`/admin/places?since=${encodeURIComponent(since)}`)).status, since).to.equal(422)
    expect((await ada.get('/admin/places?limit=1001')).status).to.equal(422)
  })
})
