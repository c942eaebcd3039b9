/** Limits and bytes of an organisation that moves to another cell. */
import { expect } from 'chai'
import { sql } from 'kysely'
import { here, move, setUrls, signIn, there, useCells } from '../cells/scene.ts'
import { expecting, newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { countedBytes, diskBytes } from './disk.ts'

describe('the quota of an organisation that moves', () => {
  useCells({ quotaBytes: 1_000_000 })

  it('keeps its limit, and its bytes are counted where it is', async () => {
    await setUrls()
    const ann = await signUp(here, 'Ann')
    await here.deps.credentials.write((trx) =>
      sql`update account set is_admin = 1 where id = ${ann.user.id}`.execute(trx),
    )
    const node = await newNode(here, ann, { text_content: 'whale '.repeat(2_000) })
    await node.commit('main', { 'a.txt': 'a'.repeat(3_000) })
    const deleted = await newNode(here, ann)
    await ann.delete(deleted.at).then(expecting(204))
    await ann.patch(`/admin/orgs/${ann.org}`, { max_nodes: 1 }).then(expecting(200))
    expect(await move(ann.org, 'there')).to.include({ code: 0 })
    expect(await countedBytes(there, ann.org)).to.equal(await diskBytes(there, ann.org))
    expect(await countedBytes(here, ann.org)).to.equal(0)
    const away = await signIn(there, ann)
    const add = () => away.post(`/orgs/${ann.org}/nodes`, { title: 'Krill' })
    expect((await add().then(expecting(403))).body).to.include({ limit: 1, what: 'nodes' })
    // Either cell answers for the organisation.
    for (const person of [ann, away])
      expect((await person.patch(`/admin/orgs/${ann.org}`, {}).then(expecting(200))).body).to.include({
        nodes: 1,
        bytes: await countedBytes(there, ann.org),
        max_nodes: 1,
        max_bytes: 1_000_000,
      })
    await away.patch(`/admin/orgs/${ann.org}`, { max_nodes: 2 }).then(expecting(200))
    await add().then(expecting(201))
  })
})
