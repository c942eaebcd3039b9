/** Owners create, change, test and delete webhooks, and send deliveries again. */
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { findWebhooks } from '../../server/features/webhooks/rows/webhooks.ts'
import { openSecret } from '../../server/features/webhooks/secrets.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { startReceiver, status } from './receiver.ts'
import {
  aHook,
  ann,
  bob,
  deliveriesOf,
  grove,
  happen,
  lasting,
  limited,
  nowMs,
  pass,
  read,
  settledAll,
  settledAttempts,
  useScene,
} from './scene.ts'

describe('webhooks', () => {
  useScene({ logLevel: 'debug' })
  let hooks: string
  before(() => {
    hooks = `/orgs/${ann.org}/webhooks`
  })

  it('have defaults, are listed oldest first, changed and deleted', async () => {
    const { url } = await startReceiver()
    const created = await ann.post(hooks, { url })
    const { secret, ...webhook } = created.body
    expect(created.headers['cache-control']).to.equal('no-store')
    expect(created.headers.location).to.equal(`${hooks}/${webhook.id}`)
    expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).to.have.length(32)
    expect(webhook).to.deep.equal({
      ...{ id: webhook.id, org_id: ann.org, url, types: ['*'], content_type: 'application/json', ordered: false },
      ...{ active: true, state: 'active', pending: 0 },
      ...{ created_by: ann.user.id, created_at: new Date(nowMs()).toISOString() },
    })
    pass(1)
    const second = await aHook(url, { types: ['tag.*'] })
    const list = (await ann.get(`${hooks}?limit=1&offset=1`)).body
    expect(list).to.deep.include({ total: 2, limit: 1, offset: 1 })
    expect(list.webhooks[0].id).to.equal(second.id)
    const change = { types: ['node.updated'], ordered: true, content_type: 'application/cloudevents+json' }
    const changed = await ann.patch(`${hooks}/${webhook.id}`, change)
    expect(changed.body).to.deep.include(change)
    expect((await ann.get(`${hooks}/${webhook.id}`)).body).to.deep.equal(changed.body)
    expect((await ann.delete(`${hooks}/${webhook.id}`)).status).to.equal(204)
    expect(await ann.get(`${hooks}/${webhook.id}`)).to.deep.include({ status: 404 })
  })

  it('are refused with the reason, at its place', async () => {
    const { url } = await startReceiver()
    const refused = async (body: object) => {
      const { status: code, body: answer } = await ann.post(hooks, body)
      return { code, ...answer.detail[0] }
    }
    const private_ = 'https://10.1.2.3/hook'
    expect(await refused({ url: private_ })).to.deep.include({ code: 422, loc: ['body', 'url'], input: private_ })
    expect((await refused({ url: url.replace('//', '//ann:secret@') })).loc).to.deep.equal(['body', 'url'])
    expect((await refused({ url: 'https://no-such-host.invalid/' })).loc).to.deep.equal(['body', 'url'])
    expect((await refused({ url, types: ['node.*', 'nodes'] })).loc).to.deep.equal(['body', 'types', 1])
    expect((await refused({ url, types: ['*', '*'] })).loc).to.deep.equal(['body', 'types', 1])
    expect((await refused({ url, types: [] })).loc).to.deep.equal(['body', 'types'])
    expect((await refused({ url, node_id: randomUUID() })).loc).to.deep.equal(['body', 'node_id'])
    const hook = await aHook(url)
    const { body } = await ann.patch(hook.at, { from: 'now' })
    expect(body.detail[0].loc).to.deep.equal(['body', 'from'])
    expect((await ann.patch(hook.at, { url: private_ })).body.detail[0].loc).to.deep.equal(['body', 'url'])
    expect((await read(hook)).url).to.equal(url)
  })

  it('are at most 20 of an organisation, also if they are created at once', async () => {
    const { url } = await startReceiver()
    const answers = await Promise.all(Array.from({ length: 25 }, () => ann.post(hooks, { url })))
    const codes = answers.map(({ status: code, body }) => body.code ?? code).sort()
    expect(codes).to.deep.equal([...Array(20).fill(201), ...Array(5).fill('too_many_webhooks')])
    expect((await ann.get(hooks)).body.total).to.equal(20)
  })

  it('are for owners, and are not found in another organisation', async () => {
    const { url } = await startReceiver()
    const hook = await aHook(url)
    expect((await bob.get(hook.at)).body.code).to.equal('forbidden')
    expect((await bob.post(`/orgs/${bob.org}/webhooks`, { url })).status).to.equal(201)
    expect((await bob.get(hook.at.replace(ann.org, bob.org))).body.code).to.equal('webhook_not_found')
    await happen(1)
    await settledAttempts(hook, 1)
    const [{ id }] = await deliveriesOf(hook)
    const { body: other } = await ann.post(hooks, { url })
    expect((await ann.get(`${hooks}/${other.id}/deliveries/${id}`)).body.code).to.equal('delivery_not_found')
  })

  it('of a node can be managed with a token for that node, and no others', async () => {
    const { url } = await startReceiver()
    const [node, other] = [await newNode(grove, ann), await newNode(grove, ann)]
    const bound = await limited(ann, { org_id: ann.org, node_id: node.id })
    for (const fields of [{}, { node_id: other.id }]) {
      const { status: code, body, headers } = await bound.post(hooks, { url, ...fields })
      expect({ code: body.code, status: code }).to.deep.equal({ code: 'token_scope', status: 403 })
      expect(body.detail).to.equal(`This token is limited to a node: send node_id ${node.id}`)
      expect(headers['www-authenticate']).to.equal('Bearer error="insufficient_scope"')
    }
    const foreign = [await aHook(url), await aHook(url, { node_id: other.id })]
    const own = (await bound.post(hooks, { url, node_id: node.id, types: ['node.updated'] }).then(expecting(201))).body
    const at = `${hooks}/${own.id}`
    const list = (await bound.get(hooks).then(expecting(200))).body
    expect({ total: list.total, ids: list.webhooks.map(({ id }: { id: string }) => id) }).to.deep.equal({
      total: 1,
      ids: [own.id],
    })
    expect((await ann.get(hooks)).body.total).to.equal(3)
    for (const { at: path } of foreign) {
      for (const { status: code, body } of [
        await bound.get(path),
        await bound.patch(path, { active: false }),
        await bound.delete(path),
        await bound.post(`${path}/rotate`),
        await bound.post(`${path}/ping`),
        await bound.get(`${path}/deliveries`),
        await bound.post(`${path}/redeliver`, { since: '2026-01-01T00:00:00Z' }),
      ])
        expect({ status: code, code: body.code }).to.deep.equal({ status: 404, code: 'webhook_not_found' })
    }
    await ann.patch(node.at, { title: 'Changed' }).then(expecting(200))
    await ann.patch(other.at, { title: 'Changed' }).then(expecting(200))
    await settledAll({ id: own.id, secret: own.secret, at }, 1, 'delivered')
    const { deliveries } = (await bound.get(`${at}/deliveries`).then(expecting(200))).body
    await bound.post(`${at}/deliveries/${deliveries[0].id}/redeliver`).then(expecting(200))
    await bound.post(`${at}/rotate`).then(expecting(200))
    await bound.post(`${at}/ping`).then(expecting(200))
    await bound.patch(at, { ordered: true }).then(expecting(200))
    await bound.delete(at).then(expecting(204))
  })

  it('are never sent to the service itself, whose port the system has chosen', async () => {
    const { body } = await ann.post(hooks, { url: `${grove.url}/orgs` })
    expect(body.detail[0]).to.deep.include({ loc: ['body', 'url'] })
    expect(body.detail[0].msg).to.match(/^The URL is that of this service/)
  })

  it('sign with both secrets for a day after a rotation', async () => {
    const receiver = await startReceiver()
    const hook = await aHook(receiver.url)
    const rotated = (await ann.post(`${hook.at}/rotate`).then(expecting(200))).body
    expect(rotated.secret)
      .to.match(/^whsec_/)
      .and.not.equal(hook.secret)
    expect(rotated.previous_secret_until).to.equal(new Date(nowMs() + 24 * 3_600_000).toISOString())
    await happen(1)
    await grove.settled()
    pass(24 * 3600 + 1)
    await happen(1)
    await grove.settled()
    const signatures = receiver.received.map(({ headers }) => `${headers['webhook-signature']}`.split(' ').length)
    expect(signatures).to.deep.equal([2, 1])
    expect(await read(hook)).to.not.have.property('previous_secret_until')
  })

  it('ping at once, also when disabled, and say what went wrong', async () => {
    const receiver = await startReceiver()
    const hook = await aHook(receiver.url, { active: false })
    const good = (await ann.post(`${hook.at}/ping`).then(expecting(200))).body
    expect(good).to.have.keys('status', 'ms')
    expect(JSON.parse(receiver.received[0]?.body ?? '')).to.deep.include({
      type: 'webhook.ping',
      data: { webhook_id: hook.id },
    })
    receiver.answer = status(503)
    expect((await ann.post(`${hook.at}/ping`)).body).to.include({
      status: 503,
      error: 'The receiver answered 503. Only 2xx counts as received.',
    })
    await receiver.close()
    const { body } = await ann.post(`${hook.at}/ping`)
    expect(body).to.have.keys('ms', 'error')
    expect(await deliveriesOf(hook)).to.deep.equal([])
  })

  it('continue when a ping arrives', async () => {
    const receiver = await startReceiver(status(500))
    const hook = await aHook(receiver.url)
    await happen(1)
    await settledAttempts(hook, 1)
    await happen(3)
    await grove.settled()
    expect((await read(hook)).pending).to.equal(4)
    receiver.answer = status(204)
    await ann.post(`${hook.at}/ping`).then(expecting(200))
    await grove.settled()
    expect(await deliveriesOf(hook, '&state=delivered')).to.have.length(3)
  })

  it('send one delivery again, or all that failed since a time, under the same ids', async () => {
    const receiver = await startReceiver(status(410))
    const hook = await aHook(receiver.url, { ordered: true })
    const [first] = await happen(1)
    await settledAttempts(hook, 1)
    const [{ id }] = await deliveriesOf(hook)
    receiver.answer = status(204)
    await ann.patch(hook.at, { active: true, from: 'now' })
    await settledAll(hook, 1, 'failed')
    const again = await ann.post(`${hook.at}/deliveries/${id}/redeliver`).then(expecting(200))
    expect(again.body).to.include({ id, state: 'pending', attempts: 0 })
    await settledAll(hook, 1, 'delivered')
    receiver.answer = status(410)
    pass(60)
    const since = new Date(nowMs()).toISOString()
    const [second] = await happen(1)
    await grove.settled()
    expect((await read(hook)).state).to.equal('disabled')
    receiver.answer = status(204)
    await ann.patch(hook.at, { active: true, from: 'now' })
    const later = new Date(nowMs() + 1).toISOString()
    expect((await ann.post(`${hook.at}/redeliver`, { since: later })).body).to.deep.equal({ redelivered: 0 })
    expect((await ann.post(`${hook.at}/redeliver`, { since })).body).to.deep.equal({ redelivered: 1 })
    await settledAll(hook, 2, 'delivered')
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).to.deep.equal([first, first, second, second])
    const details = (await ann.get(`${hook.at}/deliveries/${id}`).then(expecting(200))).body
    expect(details.request.body).to.equal(receiver.received[0]?.body)
    expect(details.request.headers).to.include({ 'webhook-id': first, 'content-type': 'application/json' })
    expect(details.response).to.deep.equal({ status: 204, body: '' })
  })

  it('send nothing while they are paused, then what was missed, or only what comes later', async () => {
    const receiver = await startReceiver()
    const hook = await aHook(receiver.url)
    expect((await ann.patch(hook.at, { active: false })).body).to.include({ state: 'disabled', reason: 'by_owner' })
    const missed = await happen(2)
    expect((await ann.patch(hook.at, { active: true })).body).to.include({ state: 'active', active: true })
    await settledAll(hook, 2, 'delivered')
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).to.have.members(missed)
    await ann.patch(hook.at, { active: false })
    await happen(2)
    await ann.patch(hook.at, { active: true, from: 'now' })
    const [later] = await happen(1)
    await settledAll(hook, 3, 'delivered')
    expect(receiver.received.at(-1)?.headers['webhook-id']).to.equal(later)
  })

  it('leave no secret in answers, in the log, or in a data folder whose key is elsewhere', async () => {
    const { url } = await startReceiver()
    const hook = await aHook(url)
    await ann.post(`${hook.at}/ping`)
    const answers = JSON.stringify([await read(hook), (await ann.get(hooks)).body, await deliveriesOf(hook)])
    expect(answers + grove.logged()).to.not.include(hook.secret.slice('whsec_'.length))
    const dataDir = await newDataDir()
    const keyed = await startGrove({ dataDir, secretKey: Buffer.alloc(32, 7).toString('base64') })
    const eve = await signUp(keyed, 'Eve')
    const { body } = await eve.post(`/orgs/${eve.org}/webhooks`, { url })
    await keyed.close()
    for (const file of (await readdir(dataDir)).filter((name) => /sqlite/.test(name))) {
      const bytes = await readFile(join(dataDir, file))
      expect(bytes.includes(body.secret.slice('whsec_'.length)), file).to.equal(false)
    }
    const lost = await startGrove({ dataDir })
    const at = `/orgs/${eve.org}/webhooks/${body.id}`
    const owner = client(lost, eve.session.accessToken)
    expect((await owner.get(at)).body).to.include({ state: 'disabled', active: false, reason: 'secret_lost' })
    const says = (await owner.post(`${at}/ping`)).body.error
    expect(says).to.match(/^The secret cannot be read.* Replace it first: POST .*\/rotate$/)
    const refused = await owner.patch(at, { active: true, types: ['tag.*'] })
    expect({ status: refused.status, code: refused.body.code, detail: refused.body.detail }).to.deep.equal({
      ...{ status: 409, code: 'secret_lost', detail: says },
    })
    expect((await owner.get(at)).body).to.deep.include({ reason: 'secret_lost', types: ['*'] })
    await owner.patch(at, { active: false }).then(expecting(200))
    await owner.patch(at, { types: ['node.*'] }).then(expecting(200))
    await owner.post(`${at}/rotate`).then(expecting(200))
    expect((await owner.get(at)).body).to.include({ state: 'disabled', reason: 'by_owner' })
    await owner.patch(at, { active: true }).then(expecting(200))
    expect((await owner.get(at)).body).to.include({ state: 'active', active: true })
    await lost.close()
  })

  it('have both secrets encrypted if the operator sets a key later', async () => {
    const { url } = await startReceiver()
    const dataDir = await newDataDir()
    const plain = await startGrove({ dataDir })
    const eve = await signUp(plain, 'Eve')
    const { body } = await eve.post(`/orgs/${eve.org}/webhooks`, { url }).then(expecting(201))
    const rotated = (await eve.post(`/orgs/${eve.org}/webhooks/${body.id}/rotate`).then(expecting(200))).body
    await plain.close()
    const keyed = await startGrove({ dataDir, secretKey: Buffer.alloc(32, 7).toString('base64') })
    const stored = async () => {
      const row = (await findWebhooks(keyed.deps.credentials.read, [body.id])).get(body.id)
      return [row?.secret_sealed ?? '', row?.previous_sealed ?? '']
    }
    await keyed.settled()
    for (const one of await stored()) expect(one).to.match(/^aes-256-gcm:/)
    const opened = (await stored()).map((one) => openSecret(keyed.deps, body.id, one))
    expect(opened).to.deep.equal([rotated.secret, body.secret])
    await keyed.close()
  })

  it('are reported while their key is missing, and have both secrets encrypted again when it changes', async () => {
    const { url } = await startReceiver()
    const dataDir = await newDataDir()
    const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64')
    const first = await startGrove({ dataDir, secretKey: keyOf(1) })
    const eve = await signUp(first, 'Eve')
    const { body } = await eve.post(`/orgs/${eve.org}/webhooks`, { url }).then(expecting(201))
    const rotated = (await eve.post(`/orgs/${eve.org}/webhooks/${body.id}/rotate`).then(expecting(200))).body
    await first.close()
    const startWith = async (keys: object) => {
      const started = await startGrove({ dataDir, logLevel: 'warn', ...keys })
      await started.settled()
      const { values } = await started.deps.metrics.webhookSecretsLost.get()
      const row = (await findWebhooks(started.deps.credentials.read, [body.id])).get(body.id)
      const stored = [row?.secret_sealed ?? '', row?.previous_sealed ?? '']
      const opened = stored.map((one) => openSecret({ config: started.deps.config }, body.id, one))
      await started.close()
      const warnings = started.logged().match(/the secrets of 1 webhook cannot be read[^"]*/g) ?? []
      return { lost: values[0]?.value, opened, warnings: warnings.map((one) => one.replace(/.*: (SECRET.*);.*/, '$1')) }
    }
    const lost = { lost: 1, opened: [undefined, undefined] }
    expect(await startWith({})).to.deep.equal({ ...lost, warnings: ['SECRET_KEY is not set'] })
    const wrong = { ...lost, warnings: ['SECRET_KEY is not the key that encrypted them'] }
    expect(await startWith({ secretKey: keyOf(2) })).to.deep.equal(wrong)
    const readable = { lost: 0, opened: [rotated.secret, body.secret], warnings: [] }
    expect(await startWith({ secretKey: keyOf(2), secretKeyOld: keyOf(1) })).to.deep.equal(readable)
    expect(await startWith({ secretKey: keyOf(2) })).to.deep.equal(readable)
    expect(await startWith({ secretKey: keyOf(1) })).to.deep.equal(wrong)
  })

  it('are kept apart from those of another organisation whose receiver hangs', async () => {
    const eve = await lasting('Eve')
    const hanging = await startReceiver(() => {})
    for (let n = 0; n < 3; n += 1) await aHook(hanging.url)
    await happen(50)
    await until(() => hanging.received.length >= 8)
    const receiver = await startReceiver()
    await aHook(receiver.url, {}, eve)
    const ids = await happen(5, { by: eve })
    // Not `settled`, which would wait for those that hang.
    await until(() => receiver.received.length === 5)
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).to.have.members(ids)
    // Of one organisation, 8 run at once; all of them hang still.
    expect(hanging.received).to.have.length(8)
  })
})
