/** A provider that accepts connections and does not answer. It is given up after 5 seconds, and may come back. */

import { expect } from 'chai'
import { client } from '../support/people.ts'
import { begin, comeBack, problemIn, type Scene, startScene } from './scene.ts'

const unavailable = { status: 503, code: 'provider_unavailable' }
const claims = { sub: 'ann', email: 'ann@acme.example', email_verified: true, name: 'Ann' }

describe('a silent provider', () => {
  let scene: Scene
  let time = Date.now()

  beforeEach(async () => {
    scene = await startScene({}, { now: () => new Date(time) })
  })
  afterEach(() => scene.close())

  it.deep('is a page with 503 at the beginning, holds up nobody else, and works again when it answers', async () => {
    scene.liar.fault = 'silent'
    const [first, second] = [scene.newVisitor(), scene.newVisitor()]
    let isWaiting = true
    const begun = Promise.all([begin(scene.grove, first), begin(scene.grove, second)]).finally(() => {
      isWaiting = false
    })
    const others = [await second.open('/sign-in'), await client(scene.grove).get('/readyz')]
    expect(others.map(({ status }) => status)).to.deep.equal([200, 200])
    expect(isWaiting, 'the others were answered first').to.equal(true)
    for (const seen of await begun) {
      expect(problemIn(seen)).to.deep.equal(unavailable)
      expect(seen.html).to.include('Acme does not answer. Try again in a minute')
      expect(seen.headers['retry-after']).to.equal('10')
    }
    expect(scene.liar.asked, 'both wait for one try').to.have.length(1)

    scene.liar.fault = undefined
    expect(problemIn(await begin(scene.grove, first)), 'one try in 10 seconds').to.deep.equal(unavailable)
    expect(scene.liar.asked).to.have.length(1)
    time += 11_000
    expect((await scene.pass(first, claims)).status).to.equal(303)
  })

  it('is a page with 503 at the return, opens no session, and a new sign-in works at once', async () => {
    const visitor = scene.newVisitor()
    const begun = await begin(scene.grove, visitor)
    scene.liar.fault = 'silent'
    const seen = await comeBack(scene.grove, scene.liar, visitor, begun, claims)
    expect(problemIn(seen)).to.deep.equal(unavailable)
    expect((await visitor.api('/auth/me')).status).to.equal(401)
    scene.liar.fault = undefined
    const again = await comeBack(scene.grove, scene.liar, visitor, begun, claims)
    expect(problemIn(again), 'the exchange is used up').to.deep.equal({ status: 400, code: 'sign_in_failed' })
    expect((await scene.pass(visitor, claims)).status).to.equal(303)
  })
})
