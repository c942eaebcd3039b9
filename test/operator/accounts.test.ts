/** `grove account`, beside a running service. */
import { expect } from 'chai'
import { runGroveCommand } from '../support/command.ts'
import { expecting } from '../support/node.ts'
import { client, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { cli, withNewPassword } from './desk.ts'

const new_password = 'staple the horse'

describe('the operator of accounts', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })

  const account = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(grove.dataDir, 'account', ...args)
    expect([code, stderr], stdout).to.deep.equal([0, ''])
    return stdout
  }
  const login = (email: string) => client(grove).post('/auth/login', { email, password })

  it('adds an administrator, who sets a password and sees all accounts, and takes that back', async () => {
    const said = await account('add', 'ada@example.org', '--name', 'Ada', '--admin')
    const [line, token] = said.trimEnd().split('\n')
    expect(line).to.match(
      /^ada@example\.org can set a password until 20.+, with POST \/auth\/password and this reset_token:$/,
    )
    const ada = await withNewPassword(grove, token)
    expect((await ada.get('/admin/accounts').then(expecting(200))).body.total).to.equal(2)
    expect(ada.session.user).to.include({ email: 'ada@example.org', name: 'Ada' })
    expect((await ada.get(`/orgs/${ann.org}`)).status).to.equal(404)
    expect(await account('list')).to.match(
      /^ann@example\.org \(Ann, [^)]+\): last used .*Z\nada@example\.org \(Ada, [^)]+\): administrator, last used .*Z\n$/,
    )
    await account('admin', 'ada@example.org', '--remove')
    expect((await ada.get('/admin/accounts')).status).to.equal(403)
  })

  it('disables an account at once, says so, and enables it again', async () => {
    const bob = await signUp(grove, 'Bob')
    await account('disable', 'bob@example.org', '--reason', 'Left the company')
    expect((await bob.get('/auth/me')).status).to.equal(401)
    expect((await login('bob@example.org')).status).to.equal(403)
    expect(await account('list', '--disabled')).to.match(
      /^bob@.*: disabled since .*Z: Left the company, last used .*\n$/,
    )
    await account('enable', 'bob@example.org')
    expect(await account('list', '--disabled')).to.equal('')
    expect((await login('bob@example.org')).status).to.equal(200)
  })

  it('names the owners of leaked tokens of any kind, and ends them, on standard input', async () => {
    const gus = await signUp(grove, 'Gus')
    const { id, token } = (await gus.post('/auth/tokens', { name: 'Laptop', access: 'write' }).then(expecting(201)))
      .body
    const feed = (await gus.post('/auth/feed-token').then(expecting(201))).body
    const invitation = (await gus.post(`/orgs/${gus.org}/invitations`, { role: 'reader' }).then(expecting(201))).body
    const reset_token = (await account('reset', 'gus@example.org')).trimEnd().split('\n').at(-1) ?? ''
    const other = (await login('gus@example.org').then(expecting(200))).body
    const leaked = `log: "${token}" ${feed.url} ${invitation.url}\n${other.accessToken} ${reset_token} grv_${'0'.repeat(43)}`
    const of = `of gus@example.org (${gus.user.id})`
    const found = [
      `…${token.slice(-4)}: personal access token ${of}: "Laptop", access write, id ${id}, never used`,
      `…${feed.token.slice(-4)}: token of an inbox feed ${of}`,
      `…${invitation.token.slice(-4)}: invitation: "reader"`,
      `…${other.accessToken.slice(-4)}: session ${of}: `,
      `…${reset_token.slice(-4)}: token to set a password ${of}`,
    ]
    const find = await cli(grove.dataDir, 'token', 'find', token.slice(-4))
    expect(find.stdout).to.contain(found[0]?.slice(7))
    const { code, stdout } = await runGroveCommand(grove.dataDir, ['token', 'end'], {}, leaked)
    const lines = stdout.trimEnd().split('\n')
    expect([code, lines.length], stdout).to.deep.equal([0, 5])
    for (const [n, line] of found.entries()) expect(lines[n]?.startsWith(`ended: ${line}`), lines[n]).to.equal(true)

    for (const gone of [token, other.accessToken])
      expect((await client(grove, gone).get('/auth/me')).status).to.equal(401)
    expect((await client(grove).post('/auth/password', { reset_token, new_password })).status).to.equal(401)
    await gus.get('/auth/me').then(expecting(200))
    expect((await cli(grove.dataDir, 'token', 'end', id)).code, 'it has ended').to.equal(1)
  })

  it('ends all sessions and tokens of an account, and says which tokens an enabled one has again', async () => {
    const hal = await signUp(grove, 'Hal')
    const { token } = (await hal.post('/auth/tokens', { name: 'CI', access: 'read' }).then(expecting(201))).body
    await account('disable', 'hal@example.org')
    expect(await account('enable', 'hal@example.org')).to.contain(
      'Valid again: 1 personal access token. To end them: grove account end hal@example.org\n',
    )
    const me = async (secret: string) => (await client(grove, secret).get('/auth/me')).status
    const { accessToken } = (await login('hal@example.org').then(expecting(200))).body
    expect([await me(token), await me(accessToken)]).to.deep.equal([200, 200])
    await account('end', 'hal@example.org')
    expect([await me(token), await me(accessToken)]).to.deep.equal([401, 401])
    expect((await login('hal@example.org')).status, 'the password stays').to.equal(200)
  })

  it('resets a forgotten password', async () => {
    await signUp(grove, 'Cid')
    const reset_token = (await account('reset', 'cid@example.org')).trimEnd().split('\n').at(-1)
    expect((await login('cid@example.org')).status, 'until the token is used').to.equal(200)
    await client(grove).post('/auth/password', { reset_token, new_password }).then(expecting(200))
    expect((await login('cid@example.org')).status).to.equal(401)
  })

  it('deletes an account, and names what became of its organisations', async () => {
    const dot = await signUp(grove, 'Dot')
    await ann.put(`/orgs/${ann.org}/members/dot@example.org`, { role: 'editor' }).then(expecting(200))
    expect(await account('delete', 'dot@example.org')).to.equal(
      `The account was deleted. Git history keeps the name and e-mail address in commits, pull requests and earlier versions of member files.\nleft: Ann (${ann.org})\nmoved to the trash, because it had no other member: Dot (${dot.org})\n`,
    )
    expect((await login('dot@example.org')).status).to.equal(401)
    const members = (await ann.get(`/orgs/${ann.org}/members`).then(expecting(200))).body.members
    expect(members.map(({ name }: { name: string }) => name)).to.deep.equal(['Ann'])
  })

  it('takes the id in place of the address, and hides an address from the start', async () => {
    const token = (await account('add', 'fay@example.org', '--hide-email')).trimEnd().split('\n').at(-1)
    const fay = await withNewPassword(grove, token)
    expect(fay.user).to.include({ name: `user-${fay.user.id.slice(-8)}`, hide_email: true })
    expect(await account('admin', fay.user.id)).to.contain(
      `fay@example.org (${fay.user.name}, ${fay.user.id}): administrator`,
    )
  })

  it.deep('is told in one line what cannot be done, with exit code 2', async () => {
    const refused = async (...args: string[]) => {
      const { code, stdout, stderr } = await cli(grove.dataDir, 'account', ...args)
      expect([code, stdout]).to.deep.equal([2, ''])
      return stderr
    }
    expect(await refused('disable', 'eve@example.org')).to.equal(
      'grove: There is no account eve@example.org; grove account list shows all\n',
    )
    expect(await refused('add', 'ann@example.org')).to.equal('grove: There is an account with this e-mail address\n')
    expect(await refused('add', 'no address')).to.contain('not a valid e-mail address')
    for (const name of ['x'.repeat(201), 'a\nb', '\u001b[31m'])
      expect(await refused('add', 'new@example.org', '--name', name)).to.contain('200 characters')
    expect(await refused('disable', 'ann@example.org', '--reason', 'x\nfake@example.org')).to.contain('500 characters')
    const eve = await signUp(grove, 'Eve')
    await eve.put(`/orgs/${eve.org}/members/ann@example.org`, { role: 'reader' }).then(expecting(200))
    expect(await refused('delete', 'eve@example.org')).to.equal(
      'grove: Eve would have no owner; make another member an owner first\n',
    )
    expect((await login('eve@example.org')).status).to.equal(200)
  })
})
