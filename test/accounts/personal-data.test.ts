/** The export of what is stored about a user: by the user, and by the operator. */
import { expect } from 'chai'
import { sql } from 'kysely'
import { personalTables } from '../../index/credentials/personal-rows.ts'
import { cli } from '../operator/desk.ts'
import { expecting } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('the data of a user', () => {
  const { grove, ann, bob, newUser } = useWorld({ ann: 'owner', bob: 'editor' })

  it('is exported with what the user wrote, without secrets, and with nothing that others wrote', async () => {
    const { token } = (await bob.post('/auth/tokens', { name: 'Laptop', access: 'read' }).then(expecting(201))).body
    const node = await ann.node({ title: 'Sea' })
    await bob.post(`${node.at}/branches`, { name: 'topic' }).then(expecting(201))
    await node.proposal('change')
    const { number } = (
      await bob.post(`${node.at}/pull-requests`, { source_branch: 'change', title: 'Bob asks' }).then(expecting(201))
    ).body.pr
    const comments = `${node.at}/pull-requests/${number}/comments`
    await bob.post(comments, { text: 'Words of Bob' }).then(expecting(201))
    await ann.post(comments, { text: 'Words of Ann' }).then(expecting(201))
    const draft = { node_id: node.id, title: 'Sea', text_content: 'Bob drafts', expected_version: null }
    await bob.put(`/orgs/${ann.org}/drafts/${node.id}`, draft).then(expecting(200))
    await grove.settled()

    const { code, stdout } = await cli(grove.dataDir, 'account', 'export', 'bob@example.org')
    expect(code).to.equal(0)
    const records = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const sources = new Set(records.map(({ source }) => source))
    expect([...sources]).to.include.members(['account', 'access_token', 'membership', 'pull_request', 'entry', 'audit'])
    for (const own of ['bob@example.org', 'Bob asks', 'Words of Bob', 'Bob drafts', 'Laptop'])
      expect(stdout).to.contain(own)
    for (const other of ['Words of Ann', 'ann@example.org', token, 'argon2', '"hash"'])
      expect(stdout).to.not.contain(other)

    const { body, headers } = await bob.get('/auth/export').then(expecting(200))
    expect(headers['content-type']).to.equal('application/zip')
    expect(String(body).startsWith('PK')).to.equal(true)
  })

  it('has the URL of a webhook only while the user may manage it', async () => {
    const cy = await newUser('Cy', 'owner')
    const at = `/orgs/${ann.org}/webhooks`
    const { id } = (await cy.post(at, { url: 'http://127.0.0.1:9000/first' }).then(expecting(201))).body
    const urls = async () => {
      const { stdout } = await cli(grove.dataDir, 'account', 'export', cy.user.email)
      const records = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      return records.filter(({ source }) => source === 'webhook').map(({ record }) => [record.id, record.url])
    }
    expect(await urls()).to.deep.equal([[id, 'http://127.0.0.1:9000/first']])
    await ann.put(`/orgs/${ann.org}/members/${cy.user.email}`, { role: 'editor' }).then(expecting(200))
    await ann.patch(`${at}/${id}`, { url: 'http://127.0.0.1:9000/secret' }).then(expecting(200))
    expect(await urls()).to.deep.equal([[id, undefined]])
  })

  it('covers each table with a column that names an account', async () => {
    const { read } = grove.deps.credentials
    if (process.env.GROVE_TEST_DATABASE_URL !== undefined) return
    const { rows } = await sql<{ name: string }>`
      select distinct t.name from sqlite_schema t join pragma_table_info(t.name) c
      where t.type = 'table' and c.name in ('account_id', 'user_id', 'created_by')`.execute(read)
    expect(rows.map(({ name }) => name).filter((name) => !personalTables.some((one) => one === name))).to.deep.equal([])
  })
})
