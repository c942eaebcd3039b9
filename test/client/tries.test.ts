/** The client handles refusals, missing answers, and calls that are no longer wanted. */
import { expect } from 'chai'
import {
  Busy,
  Conflict,
  Forbidden,
  type Grove,
  GroveError,
  grove,
  Invalid,
  NotFound,
  NotSignedIn,
} from '../../spec/client/client.ts'
import { startGrove } from '../support/grove.ts'
import { until } from '../support/until.ts'
import { type Fake, startFake, type Told, thrownBy } from './scene.ts'

const busy: Told = { status: 503, body: { detail: 'Busy', code: 'busy', request_id: '1' } }
const exists: Told = { status: 409, body: { detail: 'There is one', code: 'node_exists', request_id: '1' } }
const fine: Told = { status: 200, body: { id: 'whales' } }
const org = { org_id: 'atlas' }
const node = { ...org, node_id: 'whales' }

describe('the client', () => {
  let fake: Fake

  before(async () => {
    fake = await startFake()
  })
  after(() => fake.close())

  describe('that is told to come later', () => {
    it('tries three times what may be repeated', async () => {
      const pull = { path: { ...node, number: 1 } }
      const calls: readonly ((g: Grove) => Promise<unknown>)[] = [
        (g) => g.getNode({ path: node }),
        (g) => g.updateNode({ path: node, body: { title: 'Whales' } }),
        (g) => g.deleteNode({ path: node }),
        (g) => g.putParent({ path: { ...node, parent_id: 'sea' }, body: {} }),
        (g) => g.searchNodes({ path: org, body: { query: 'whales' } }),
        (g) => g.mergePull(pull),
        (g) => g.createNode({ path: org, body: { id: 'whales', title: 'Whales' } }),
        (g) => g.putNodes({ path: org, body: { nodes: [{ id: 'whales' }] } }),
      ]
      await Promise.all(
        calls.map(async (call) => {
          const { url, asked, tell, close } = await startFake()
          tell(busy, busy, fine)
          expect(await call(grove({ url }))).to.deep.equal({ id: 'whales' })
          expect(asked, asked[0]).to.have.length(3)
          expect(new Set(asked).size).to.equal(1)
          await close()
        }),
      )
    })

    it('gives up after the third', async () => {
      fake.tell(busy)
      const error = await thrownBy(grove({ url: fake.url }).listOrgs())
      expect(error).to.be.an.instanceOf(Busy).and.to.include({ status: 503, code: 'busy', message: 'Busy' })
      expect(fake.asked).to.have.length(3)
    })

    it('sends once what would be done twice', async () => {
      const g = grove({ url: fake.url })
      const calls: readonly (() => Promise<unknown>)[] = [
        () => g.createOrg({ body: { name: 'Atlas' } }),
        () => g.createNode({ path: org, body: { title: 'Whales' } }),
        () => g.createNodes({ path: org, body: { nodes: [{ id: 'whales', title: 'Whales' }] } }),
        () => g.putNodes({ path: org, body: { nodes: [{ id: 'whales' }, { ref: 'krill', title: 'Krill' }] } }),
        () => g.createCommit({ path: { ...node, branch: 'main' }, body: { message: 'Sing', changes: [] } }),
      ]
      for (const call of calls) {
        fake.tell(busy)
        expect(await thrownBy(call())).to.be.an.instanceOf(Busy)
        expect(fake.asked).to.have.length(1)
      }
    })

    it('reads the node that its first try has made', async () => {
      fake.tell(busy, exists, fine)
      const g = grove({ url: fake.url })
      expect(await g.createNode({ path: org, body: { id: 'whales', title: 'Whales' } })).to.deep.equal({ id: 'whales' })
      expect(fake.asked).to.deep.equal([
        'POST /orgs/atlas/nodes',
        'POST /orgs/atlas/nodes',
        'GET /orgs/atlas/nodes/whales',
      ])
      fake.tell(exists)
      const error = await thrownBy(g.createNode({ path: org, body: { id: 'whales', title: 'Whales' } }))
      expect(error).to.be.an.instanceOf(Conflict)
    })

    it('waits no half minute', async () => {
      fake.tell({ status: 429, headers: { 'retry-after': '31' }, body: { detail: 'Slower', code: 'rate_limited' } })
      const error = await thrownBy(grove({ url: fake.url }).listOrgs())
      expect(error).to.be.an.instanceOf(Busy).and.to.include({ code: 'rate_limited', retryAfter: 31 })
      expect(fake.asked).to.have.length(1)
      fake.tell({ status: 503, headers: { 'retry-after': '7' }, body: { detail: 'Busy', code: 'busy' } })
      await thrownBy(grove({ url: fake.url }).refreshSession({ body: { refreshToken: 'one' } }))
      expect(fake.asked).to.have.length(1)
    })
  })

  describe('that gets no answer', () => {
    it('tries again after a lost connection', async () => {
      fake.tell('reset', fine)
      expect(await grove({ url: fake.url }).getNode({ path: node })).to.deep.equal({ id: 'whales' })
      expect(fake.asked.length).to.be.greaterThan(1)
    })

    it('tries again after an answer that breaks off', async () => {
      fake.tell({ status: 200, headers: { 'content-length': '100', connection: 'close' }, body: '{"id"' }, fine)
      const g = grove({ url: fake.url, timeoutMs: 1_000 })
      expect(await g.getNode({ path: node })).to.deep.equal({ id: 'whales' })
    })

    it('says so after the time that it has for each try', async () => {
      fake.tell('silence')
      // Counted as they are sent: on a slow machine a try may end before it arrives.
      let tries = 0
      const counted: typeof fetch = (...request) => {
        tries++
        return fetch(...request)
      }
      const error = await thrownBy(grove({ url: fake.url, timeoutMs: 20, fetch: counted }).getNode({ path: node }))
      expect(error).to.be.an.instanceOf(Busy).and.to.include({ status: 0, code: 'no_answer' })
      expect(tries).to.equal(3)
      fake.tell('silence')
      const once = grove({ url: fake.url }).createOrg({ body: { name: 'Atlas' }, timeoutMs: 20 })
      expect(await thrownBy(once)).to.include({ code: 'no_answer' })
    })

    it('names the cause', async () => {
      const gone = await startFake()
      await gone.close()
      const error = await thrownBy(grove({ url: gone.url }).createOrg({ body: { name: 'Atlas' } }))
      expect(error).to.be.an.instanceOf(Busy).and.to.have.property('cause').that.is.an.instanceOf(TypeError)
    })
  })

  describe('that is ended', () => {
    it('throws the reason of the signal, of the call or its own', async () => {
      for (const isOwn of [false, true]) {
        const { signal, ...end } = ending()
        fake.tell('silence')
        const g = grove({ url: fake.url, ...(isOwn ? { signal } : {}) })
        const thrown = thrownBy(g.getNode({ path: node, ...(isOwn ? {} : { signal }) }))
        await until(() => fake.asked.length === 1)
        end.now()
        expect(await thrown)
          .to.include({ name: 'AbortError' })
          .and.to.not.be.an.instanceOf(GroveError)
        expect(fake.asked).to.have.length(1)
      }
    })

    it('does not wait for its next try', async () => {
      const { signal, now } = ending()
      fake.tell({ status: 503, headers: { 'retry-after': '29' }, body: { detail: 'Busy', code: 'busy' } })
      const thrown = thrownBy(grove({ url: fake.url }).getNode({ path: node, signal }))
      await until(() => fake.asked.length === 1)
      now()
      expect(await thrown).to.include({ name: 'AbortError' })
    })

    it('asks nothing with a signal that is aborted already', async () => {
      fake.tell(fine)
      const thrown = thrownBy(grove({ url: fake.url }).getNode({ path: node, signal: AbortSignal.abort('enough') }))
      expect(await thrown).to.equal('enough')
      expect(fake.asked).to.deep.equal([])
    })
  })

  describe('that is refused', () => {
    it('throws the class of the status', async () => {
      const classes = { 401: NotSignedIn, 403: Forbidden, 404: NotFound, 409: Conflict, 422: Invalid, 500: GroveError }
      for (const [status, kind] of Object.entries(classes)) {
        fake.tell({ status: Number(status), body: { detail: 'No', code: 'not_found', request_id: '1' } })
        const error = await thrownBy(grove({ url: fake.url }).createOrg({ body: { name: 'Atlas' } }))
        expect(Object.getPrototypeOf(error)).to.equal(kind.prototype)
        expect(error).to.include({ status: Number(status), code: 'not_found', message: 'No' })
        expect(error).to.include({ name: kind === GroveError ? 'GroveError' : kind.name })
      }
    })

    it('has what the answer says', async () => {
      const g = grove({ url: fake.url })
      fake.tell({ status: 409, body: { detail: 'It moved', code: 'head_moved', request_id: '1', current_head: 'ab' } })
      expect(await thrownBy(g.deleteNode({ path: node }))).to.include({ code: 'head_moved', currentHead: 'ab' })
      fake.tell({ status: 422, body: { detail: [{ loc: ['body', 'name'], msg: 'Too long', type: 'long' }] } })
      const invalid = await thrownBy(g.createOrg({ body: { name: '' } }))
      expect(invalid).to.include({ code: 'invalid', message: 'body.name: Too long' })
      expect(invalid).to.have.deep.property('fields', [{ loc: ['body', 'name'], msg: 'Too long', type: 'long' }])
    })

    it('takes the page of a proxy for what it is', async () => {
      const g = grove({ url: fake.url })
      fake.tell({ status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad gateway</h1>' })
      const lost = await thrownBy(g.createOrg({ body: { name: 'Atlas' } }))
      expect(lost).to.be.an.instanceOf(Busy).and.to.include({ code: 'unknown', message: '502 Bad Gateway' })
      fake.tell({ status: 302, headers: { location: '/elsewhere' } })
      expect(await thrownBy(g.getNode({ path: node }))).to.include({ status: 302, code: 'unknown' })
      expect(fake.asked).to.have.length(1)
    })

    it('by a real service has its codes', async () => {
      const service = await startGrove()
      const g = grove({ url: `${service.url}/` })
      expect(await thrownBy(g.listOrgs()))
        .to.be.an.instanceOf(NotSignedIn)
        .and.to.include({ code: 'unauthenticated' })
      expect(await thrownBy(g.signUp({ body: { email: 'no', password: 'no' } }))).to.be.an.instanceOf(Invalid)
      await service.close()
    })
  })
})

function ending() {
  const controller = new AbortController()
  return { signal: controller.signal, now: () => controller.abort() }
}
