/** Each action is recorded by its request, with nothing secret. */

import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { type AuditAction, auditActions } from '../../server/base/audit-actions.ts'
import { issueResetToken } from '../../server/domain/accounts/sessions.ts'
import { cli, folder, useDesk } from '../operator/desk.ts'
import { made, unheard } from '../support/cast.ts'
import { type Choice, connectProgram, renew } from '../support/connector.ts'
import { remoteUrl } from '../support/desk.ts'
import { makeEmailToken } from '../support/email-tokens.ts'
import { newNode } from '../support/node.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { ann, cliDone, desk, type Entry, grove, pass, root, serviceAudit, useScene } from './scene.ts'

/** Strings that no row may have. */
const secrets = new Set<string>([password, 'nobody@example.org', 'another long one'])

const agent = { 'user-agent': 'audit-test/1.0' }

interface Made {
  readonly user?: PersonClient
  /** Parts of the entry. */
  readonly has?: Record<string, unknown>
}

let count = 0
async function someone(): Promise<PersonClient> {
  const who = await signUp(grove, `user${++count}`)
  for (const token of [who.session.accessToken, who.session.refreshToken, who.session.idToken]) secrets.add(token)
  return who
}

/** A program that a new user has connected. */
async function connection(choice: Choice = {}) {
  const user = await someone()
  const connected = await connectProgram(grove, user, { ...choice, headers: agent })
  for (const token of [connected.token, connected.refreshToken]) secrets.add(token)
  return { ...connected, user }
}

async function newSecret(answer: Promise<{ body: Record<string, string> }>, field: string): Promise<string> {
  const secret = (await answer).body[field] ?? ''
  secrets.add(secret)
  return secret
}

async function invited(org: string, role = 'reader') {
  const body = await made(ann.post(`/orgs/${org}/invitations`, { role }))
  secrets.add(body.token)
  return body
}

/** A bot of Ann's organisation, and its path. */
async function aBot() {
  const { id } = await made(ann.post(`/orgs/${ann.org}/bots`, { name: `Bot ${++count}`, role: 'reader' }))
  return { id: String(id), at: `/orgs/${ann.org}/bots/${id}` }
}

async function accessToken(who: PersonClient, fields: object = {}) {
  const body = await made(who.post('/auth/tokens', { name: 'Laptop', access: 'read', ...fields }))
  secrets.add(body.token)
  return body
}

async function resetToken(who: PersonClient): Promise<string> {
  const { reset_token } = await issueResetToken(grove.deps, who.user.id)
  secrets.add(reset_token)
  return reset_token
}

const account = (id: string) => ({ target: { type: 'account', id } })

/** Makes one row of each action. */
const requests: Partial<Record<AuditAction, () => Promise<Made>>> = {
  'auth.sign_in': async () => {
    const user = await someone()
    await made(client(grove).post('/auth/login', { email: user.user.email, password }, agent))
    return { user, has: { outcome: 'success', detail: { method: 'password' } } }
  },
  'auth.failed': async () => {
    const user = await someone()
    await client(grove).post('/auth/login', { email: user.user.email, password: 'not the password' }, agent)
    return { has: { outcome: 'failure', ...account(user.user.id) } }
  },
  'auth.sign_out': async () => {
    const user = await someone()
    await client(grove).post('/auth/logout', { refreshToken: user.session.refreshToken }, agent)
    return { user }
  },
  'auth.password_changed': async () => {
    const user = await someone()
    await made(user.post('/auth/password', { old_password: password, new_password: 'another long one' }, agent))
    return { user, has: account(user.user.id) }
  },
  'auth.reset_asked': async () => {
    const user = await someone()
    await made(client(grove).post('/auth/password/forgot', { email: user.user.email }, agent))
    // The sender writes the row, then finds no mail server.
    await grove.settled()
    return { has: account(user.user.id) }
  },
  'auth.reset_issued': async () => {
    const user = await someone()
    await newSecret(root.post(`/admin/accounts/${user.user.id}/reset`, {}, agent), 'reset_token')
    return { user: root, has: account(user.user.id) }
  },
  'auth.reset_used': async () => {
    const user = await someone()
    const reset_token = await resetToken(user)
    await made(client(grove).post('/auth/password', { reset_token, new_password: 'another long one' }, agent))
    return { user, has: account(user.user.id) }
  },
  'auth.refresh_reused': async () => {
    const { user, session } = await someone()
    const { refreshToken } = session
    await newSecret(client(grove).post('/auth/refresh', { refreshToken }), 'refreshToken')
    pass(31_000)
    await client(grove).post('/auth/refresh', { refreshToken }, agent)
    pass(-31_000)
    return { has: { actor: { kind: 'anonymous' }, outcome: 'refused', detail: { account_id: user.id } } }
  },
  'auth.session_revoked': async () => {
    const user = await someone()
    await user.delete('/auth/sessions', agent)
    return { user, has: account(user.user.id) }
  },
  'token.created': async () => {
    const user = await someone()
    const { token, id } = await made(user.post('/auth/tokens', { name: 'Laptop', access: 'read' }, agent))
    secrets.add(token)
    return { user, has: { target: { type: 'token', id }, detail: { access: 'read' } } }
  },
  'token.revoked': async () => {
    const { id } = await accessToken(ann)
    await ann.delete(`/auth/tokens/${id}`, agent)
    return { user: ann, has: { target: { type: 'token', id } } }
  },
  'feed_token.created': async () => {
    const user = await someone()
    const { token } = await made(user.post('/auth/feed-token', undefined, agent))
    secrets.add(token)
    return { user, has: account(user.user.id) }
  },
  'feed_token.ended': async () => {
    const user = await someone()
    await user.delete('/auth/feed-token', agent)
    return { user, has: account(user.user.id) }
  },
  'token.first_used': async () => {
    const { id, token } = await accessToken(ann)
    await made(client(grove, token).get('/orgs', agent))
    return { user: ann, has: { target: { type: 'token', id } } }
  },
  'token.refused': async () => {
    const { id, token } = await accessToken(ann)
    await client(grove, token).post(`/orgs/${ann.org}/nodes`, { title: 'Whales' }, agent)
    const detail = { operation: 'createNode', code: 'token_scope', path_org_id: ann.org }
    return { user: ann, has: { outcome: 'refused', target: { type: 'token', id }, detail } }
  },
  'connection.created': async () => {
    const { id, user } = await connection({ access: 'read' })
    return { user, has: { target: { type: 'connection', id } } }
  },
  'connection.ended': async () => {
    const { id, user } = await connection()
    await user.delete(`/auth/connections/${id}`, agent)
    return { user, has: { target: { type: 'connection', id } } }
  },
  'connection.first_used': async () => {
    const { id, user, token } = await connection()
    await made(client(grove, token).get('/orgs', agent))
    return { user, has: { target: { type: 'connection', id } } }
  },
  'connection.refused': async () => {
    const { id, user, token } = await connection({ access: 'read' })
    await client(grove, token).post(`/orgs/${user.org}/nodes`, { title: 'Whales' }, agent)
    const detail = { operation: 'createNode', code: 'token_scope', path_org_id: user.org }
    return { user, has: { outcome: 'refused', target: { type: 'connection', id }, detail } }
  },
  'connection.reused': async () => {
    const { id, program, refreshToken } = await connection()
    await renew(program, refreshToken)
    pass(121_000)
    await renew(program, refreshToken, {}, agent)
    pass(-121_000)
    return { has: { actor: { kind: 'anonymous' }, outcome: 'refused', target: { type: 'connection', id } } }
  },
  'account.created': async () => {
    const email = `${randomUUID()}@example.org`
    const { account: created, ...token } = await made(root.post('/admin/accounts', { email }, agent))
    secrets.add(token.reset_token)
    return { user: root, has: account(created.id) }
  },
  'account.email_verified': async () => {
    const user = await someone()
    // The mail of the sign-up has its own token, which would replace this one.
    const { read } = grove.deps.credentials
    const mailed = read.selectFrom('email_token').select('hash').where('account_id', '=', user.user.id)
    await grove.settled()
    expect(await mailed.execute()).to.have.length(1)
    const token = await makeEmailToken(grove, user)
    secrets.add(token)
    await made(client(grove).post('/auth/verify', { token }, agent))
    return { user, has: account(user.user.id) }
  },
  'account.email_undone': async () => {
    const user = await someone()
    const token = await makeEmailToken(grove, user, 'undo')
    secrets.add(token)
    await made(client(grove).post('/auth/email/undo', { token }, agent))
    return { user, has: account(user.user.id) }
  },
  'account.email_changed': async () => {
    const user = await someone()
    const token = await makeEmailToken(grove, user, 'new_address', `${randomUUID()}@example.org`)
    secrets.add(token)
    await made(client(grove).post('/auth/verify', { token }, agent))
    return { user, has: account(user.user.id) }
  },
  'account.disabled': async () => managed({ disabled: true }),
  'account.access_ended': async () => managed({ end_access: true }),
  'account.exported': async () => {
    const user = await someone()
    await user.get('/auth/export', agent)
    return { user, has: account(user.user.id) }
  },
  'account.enabled': async () => managed({ disabled: false }, { disabled: true }),
  'account.admin_granted': async () => managed({ is_admin: true }),
  'account.admin_revoked': async () => managed({ is_admin: false }, { is_admin: true }),
  'account.deleted': async () => {
    const { user } = await someone()
    await made(root.delete(`/admin/accounts/${user.id}`, agent))
    return { user: root, has: account(user.id) }
  },
  'invitation.created': async () => {
    const { id, token } = await made(ann.post(`/orgs/${ann.org}/invitations`, { role: 'editor' }, agent))
    secrets.add(token)
    return { user: ann, has: { org_id: ann.org, target: { type: 'invitation', id } } }
  },
  'invitation.used': async () => {
    const { id, token } = await invited(ann.org)
    const user = await someone()
    await made(user.post('/auth/invitations/accept', { token }, agent))
    return { user, has: { org_id: ann.org, target: { type: 'invitation', id }, detail: { role: 'reader' } } }
  },
  'invitation.revoked': async () => {
    const { id } = await invited(ann.org)
    await ann.delete(`/orgs/${ann.org}/invitations/${id}`, agent)
    return { user: ann, has: { org_id: ann.org, target: { type: 'invitation', id } } }
  },
  'member.granted': async () => {
    const { user } = await someone()
    await cliDone('member', 'add', ann.org, user.email, 'reader')
    return { has: { ...operator, ...account(user.id), org_id: ann.org, detail: { role: 'reader' } } }
  },
  'git.fetched': async () => {
    const node = await newNode(grove, ann)
    const { token } = await accessToken(ann)
    await desk.done(`git clone -q ${remoteUrl(grove, node.org, node.id, token)} ${node.id}`)
    return { user: ann, has: { org_id: ann.org, target: { type: 'node', id: node.id } } }
  },
  'git.refused': async () => {
    const node = await newNode(grove, ann)
    const user = await someone()
    const { token } = await accessToken(user)
    await desk.sh(`git clone -q ${remoteUrl(grove, node.org, node.id, token)} refused`)
    const detail = { service: 'git-upload-pack', code: 'org_not_found' }
    return { user, has: { org_id: ann.org, outcome: 'refused', detail } }
  },
  'org.cloned': async () => {
    const { token } = await accessToken(ann)
    await desk.done(`git clone -q ${remoteUrl(grove, ann.org, 'org', token)} org`)
    return { user: ann, has: { org_id: ann.org, target: { type: 'org', id: ann.org } } }
  },
  'org.exported': async () => {
    await ann.get(`/orgs/${ann.org}/export`, agent)
    return { user: ann, has: { org_id: ann.org, target: { type: 'org', id: ann.org } } }
  },
  'org.imported': async () => {
    await desk.done('mkdir -p notes; echo "# Krill" > notes/krill.md')
    await cliDone('import', join(desk.dir, 'notes'), '--as', 'ann@example.org', '--org', ann.org)
    return { has: { ...operator, org_id: ann.org, detail: { account_id: ann.user.id } } }
  },
  'org.limited': async () => {
    await made(root.patch(`/admin/orgs/${ann.org}`, { max_nodes: 0 }, agent))
    return { user: root, has: { org_id: ann.org, target: { type: 'org', id: ann.org }, detail: { max_nodes: 0 } } }
  },
  'node.restored': async () => {
    const node = await newNode(grove, ann)
    await ann.delete(node.at)
    await made(ann.post(`/orgs/${ann.org}/trash/${node.id}/restore`, {}, agent))
    return { user: ann, has: { org_id: ann.org, target: { type: 'node', id: node.id } } }
  },
  'trash.purged': async () => {
    const node = await newNode(grove, ann)
    await ann.delete(node.at)
    await cliDone('purge', '--older-than', '0', '--force')
    return { has: { ...operator, org_id: ann.org, target: { type: 'node', id: node.id } } }
  },
  'text.erased': async () => {
    const node = await newNode(grove, ann)
    await node.proposal('song')
    await node.open('song')
    secrets.add('Whales sing loudly.')
    const { entry } = await made(ann.post(`${node.at}/pull-requests/1/comments`, { text: 'Whales sing loudly.' }))
    await made(ann.post(`${node.at}/pull-requests/1/entries/${entry}/erase`, {}, agent))
    return { user: ann, has: { org_id: ann.org, target: { type: 'node', id: node.id } } }
  },
  'bot.created': async () => {
    const { id } = await made(ann.post(`/orgs/${ann.org}/bots`, { name: `Bot ${++count}`, role: 'reader' }, agent))
    return { user: ann, has: { org_id: ann.org, ...account(id), detail: { role: 'reader' } } }
  },
  'bot.changed': async () => {
    const { id, at } = await aBot()
    await made(ann.patch(at, { role: 'editor' }, agent))
    return { user: ann, has: { org_id: ann.org, ...account(id) } }
  },
  'bot.deleted': async () => {
    const { id, at } = await aBot()
    await ann.delete(at, agent)
    return { user: ann, has: { org_id: ann.org, ...account(id) } }
  },
  'bot.token_created': async () => {
    const { id: bot, at } = await aBot()
    const { id, token } = await made(ann.post(`${at}/tokens`, { name: 'CI', access: 'propose' }, agent))
    secrets.add(token)
    return { user: ann, has: { org_id: ann.org, target: { type: 'token', id }, detail: { bot, access: 'propose' } } }
  },
  'bot.token_revoked': async () => {
    const { id: bot, at } = await aBot()
    const { id, token } = await made(ann.post(`${at}/tokens`, { name: 'CI', access: 'read' }))
    secrets.add(token)
    await ann.delete(`${at}/tokens/${id}`, agent)
    return { user: ann, has: { org_id: ann.org, target: { type: 'token', id }, detail: { bot } } }
  },
  'webhook.created': async () => {
    const { id } = await aHook()
    const detail = { host: new URL(unheard).host }
    return { user: ann, has: { org_id: ann.org, target: { type: 'webhook', id }, detail } }
  },
  'webhook.updated': async () => {
    const { id, at } = await aHook()
    const url = new URL(`${unheard}/hunter22?key=hunter22`)
    url.port = '4433'
    await made(ann.patch(at, { url: url.href, types: ['tag.*'], active: true }, agent))
    const hosts = { host: url.host, host_before: new URL(unheard).host }
    const detail = { changed: ['url', 'types', 'active'], ...hosts }
    return { user: ann, has: { target: { type: 'webhook', id }, detail } }
  },
  'webhook.disabled': async () => {
    const { id, at } = await aHook()
    await made(ann.patch(at, { active: false }, agent))
    return { user: ann, has: { target: { type: 'webhook', id }, detail: { reason: 'by_owner' } } }
  },
  'webhook.rotated': async () => {
    const { id, at } = await aHook()
    await newSecret(ann.post(`${at}/rotate`, {}, agent), 'secret')
    return { user: ann, has: { target: { type: 'webhook', id } } }
  },
  'webhook.deleted': async () => {
    const node = await newNode(grove, ann)
    const { id, at } = await aHook({ node_id: node.id })
    await ann.delete(at, agent)
    return { user: ann, has: { target: { type: 'webhook', id }, detail: { node_id: node.id } } }
  },
  'keys.rotated': async () => {
    await cliDone('keys', 'rotate')
    return { has: operator }
  },
  'config.changed': async () => ({ has: { actor: { kind: 'service' }, origin: { via: 'service' } } }),
  'data.restored': async () => {
    const [backup, restored] = [join(await folder(), 'backup'), await folder()]
    await cliDone('backup', backup)
    const { code, stderr } = await cli(restored, 'restore', backup)
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    const { stdout } = await cli(restored, 'audit', 'export')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry)
    expect(lines.find((one) => one.action === 'data.restored')).to.deep.include(operator)
    return {}
  },
}

const operator = { actor: { kind: 'operator', name: userInfo().username }, origin: { via: 'command' } }

/** Creates a webhook whose URL and secret no row may have. */
async function aHook(fields: object = {}) {
  const body = { url: `${unheard}?key=hunter22`, active: false, ...fields }
  const { id, secret } = await made(ann.post(`/orgs/${ann.org}/webhooks`, body, agent))
  for (const text of [secret, 'hunter22']) secrets.add(text)
  return { id, at: `/orgs/${ann.org}/webhooks/${id}` }
}

/** A change of an account by the administrator, after another one. */
async function managed(change: object, before?: object): Promise<Made> {
  const { user } = await someone()
  const at = `/admin/accounts/${user.id}`
  if (before) await made(root.patch(at, before))
  await made(root.patch(at, change, agent))
  return { user: root, has: account(user.id) }
}

describe('the audit', () => {
  useDesk()
  // No server answers there: the row is written before the mail is sent.
  useScene({ smtpUrl: 'smtp://127.0.0.1:1' })

  // test/oidc/leavers.test.ts has these.
  const ofProviders = /^(identity\.|auth\.provider_)/
  for (const action of auditActions.filter((one) => !ofProviders.test(one))) {
    const test = action === 'data.restored' ? it.deep : it
    test(`has a row for ${action}`, async () => {
      const work = requests[action]
      if (work === undefined) throw new Error(`No request makes ${action}`)
      const { user, has = {} } = await work()
      if (action === 'data.restored') return
      const entries = await serviceAudit(`&action=${action}`)
      const entry = entries.find(({ target }) => isDeepStrictEqual(target, has.target ?? target))
      if (entry === undefined) throw new Error(`There is no row for ${action}`)
      expect(entry).to.deep.include({ action, outcome: 'success', ...shallow(has) })
      for (const name of ['detail', 'actor', 'origin'] as const) expect(entry[name]).to.deep.include(has[name] ?? {})
      if (user) {
        expect(entry.actor).to.deep.include({ kind: 'user', id: user.user.id, name: user.user.name })
        expect(entry.request_id).to.be.a('string')
        expect(entry.origin.address).to.equal('127.0.0.1')
        const isGit = action.startsWith('git.') || action === 'org.cloned'
        expect(entry.origin.user_agent).to.match(isGit ? /^git\// : /^audit-test/)
        expect(entry.origin.via).to.equal(isGit ? 'fetch' : action === 'connection.created' ? 'page' : 'rest')
      }
    })
  }

  it('says how much was fetched, once the client has it', async () => {
    await until(async () =>
      (await serviceAudit('&action=git.fetched')).some(({ detail }) => Number(detail.bytes) > 100),
    )
  })

  it('has no secret in any row, and no e-mail address', async () => {
    await client(grove).post('/auth/login', { email: 'nobody@example.org', password: 'not the password' })
    // Counts are written within a second.
    await grove.settled()
    const database = await Promise.all(
      ['', '-wal'].map((end) => readFile(join(grove.dataDir, `events.sqlite${end}`), 'latin1')),
    )
    const shown = JSON.stringify(await serviceAudit())
    expect(secrets.size).to.be.greaterThan(50)
    for (const secret of secrets) {
      expect(shown, secret).to.not.include(secret)
      for (const file of database) expect(file.includes(secret), secret).to.equal(false)
    }
    expect(shown).to.not.match(/@example\.org/)
    for (const file of database) expect(file).to.not.match(/not the password/)
  })
})

/** Without the parts that are compared one by one. */
function shallow({ detail: _, actor: __, origin: ___, ...rest }: Record<string, unknown>) {
  return rest
}
