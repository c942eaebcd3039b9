import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('git: personal access tokens', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let other: TestNode
  let desk: Desk

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales are mammals.\n' })
    other = await newNode(grove, ann)
    desk = await newDesk()
  })
  after(() => desk.remove())

  async function token(fields: object): Promise<{ id: string; token: string }> {
    return (await ann.post('/auth/tokens', { name: 'Laptop', access: 'read', ...fields }).then(expecting(201))).body
  }

  const url = (secret: string, { org, id } = node) => remoteUrl(grove, org, id, secret)

  it('that may read clone, and do not push', async () => {
    const { token: secret } = await token({})
    await desk.done(`git clone -q ${url(secret)} read`)
    const { code, text } = await desk.sh('cd read; git commit -q --allow-empty -m x; git push')
    expect(code).to.equal(128)
    expect(text).to.include('remote: This token is read-only')
  })

  it.deep('that may write push', async () => {
    const { id, token: secret } = await token({ access: 'write' })
    await desk.done(`git clone -q ${url(secret)} write; cd write; git commit -q --allow-empty -m Pushed; git push -q`)
    expect(node.git.say('log', '-1', '--format=%s', 'main')).to.equal('Pushed')
    const { tokens } = (await ann.get('/auth/tokens')).body
    expect(tokens.find((one: { id: string }) => one.id === id)).to.have.property('last_used_at')
  })

  it('are shown as a Bearer token too, as the access token of a login is', async () => {
    const { token: secret } = await token({})
    for (const text of [secret, ann.session.accessToken])
      await desk.done(
        `git -c http.extraHeader="Authorization: Bearer ${text}" ls-remote ${remoteUrl(grove, node.org, node.id)}`,
      )
  })

  it('of one node, or one organisation, reach nothing else', async () => {
    const ofNode = (await token({ access: 'write', org_id: node.org, node_id: node.id })).token
    await desk.done(`git ls-remote ${url(ofNode)}`)
    expect((await desk.sh(`git ls-remote ${url(ofNode, other)}`)).text).to.include(
      'This token is limited to another organisation or node',
    )
    const { body: second } = await ann.post('/orgs', { name: 'Second' })
    const ofOrg = (await token({ access: 'write', org_id: node.org })).token
    await desk.done(`git ls-remote ${url(ofOrg, other)}; git ls-remote ${remoteUrl(grove, node.org, 'org', ofOrg)}`)
    const elsewhere = await newNode(grove, { ...ann, org: second.id })
    expect((await desk.sh(`git ls-remote ${url(ofOrg, elsewhere)}`)).code).to.equal(128)
    expect((await desk.sh(`git ls-remote ${remoteUrl(grove, node.org, 'org', ofNode)}`)).code).to.equal(128)
  })

  it('end at once when they are revoked', async () => {
    const { id, token: secret } = await token({ access: 'write' })
    await desk.done(`git clone -q ${url(secret)} revoked`)
    await ann.delete(`/auth/tokens/${id}`).then(expecting(204))
    expect((await desk.sh('cd revoked; git fetch')).text).to.include('Authentication failed')
  })

  it('are never passwords, and passwords are never tokens', async () => {
    expect((await desk.sh(`git ls-remote ${url('correct%20horse%20battery')}`)).text).to.include(
      'Authentication failed',
    )
    expect((await desk.sh(`git ls-remote ${url(ann.session.refreshToken)}`)).text).to.include('Authentication failed')
  })
})
