/** The order in which a request with several faults is refused, which spec/errors.md has. */

import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { sendRaw } from '../support/raw.ts'
import { useWorld } from '../support/world.ts'

/** The faults of one request, in the order in which they are found, each with its status and code. */
const faults = [
  ['long headers', 431, 'headers_too_large'],
  ['two hosts', 400, 'bad_request'],
  ['expectation', 417, 'expectation_failed'],
  ['path', 404, 'not_found'],
  ['method', 405, 'method_not_allowed'],
  ['invalid token', 401, 'invalid_token'],
  ['no token', 401, 'unauthenticated'],
  ['read-only token', 403, 'token_scope'],
  ['media type', 415, 'unsupported_media_type'],
  ['long body', 413, 'too_large'],
  ['shape', 422, undefined],
  ['unknown organisation', 404, 'org_not_found'],
  ['role', 403, 'forbidden'],
] as const

type Fault = (typeof faults)[number][0]

describe('a request with several faults', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'reader' })

  it('is refused for the first of them, and without that for the next', async () => {
    const { body } = await bob.post('/auth/tokens', { name: 'Script', access: 'read' })
    const answers = []
    for (const at of faults.keys()) {
      const [answer] = await sendRaw(grove, request(new Set(faults.slice(at).map(([name]) => name)), body.token))
      answers.push([faults[at]?.[0], answer?.status, JSON.parse(answer?.text ?? '{}').code])
    }
    expect(answers).to.deep.equal(faults)
  })

  it('is described in one list, with every status', () => {
    const text = readFileSync('spec/errors.md', 'utf8')
    const list = /several faults, the first of these is returned:\n\n((?:\d+\. .*\n)+)/.exec(text)?.[1] ?? ''
    const statuses = [...list.matchAll(/\b4\d\d\b/g)].map(([status]) => Number(status))
    const told = new Set<number>(faults.map(([, status]) => status))
    expect([...new Set(statuses)].filter((status) => told.has(status))).to.deep.equal([...told])
  })

  function request(has: ReadonlySet<Fault>, readOnly: string): string {
    const org = has.has('unknown organisation') ? '01980b00-0000-7000-8000-000000000001' : ann.org
    const token = has.has('invalid token') ? 'wrong' : has.has('read-only token') ? readOnly : bob.session.accessToken
    const body = JSON.stringify({ title: has.has('shape') ? 1 : 'Whales' })
    return [
      `${has.has('method') ? 'PUT' : 'POST'} ${has.has('path') ? '/nowhere' : `/orgs/${org}/nodes`} HTTP/1.1`,
      'Host: x',
      ...(has.has('two hosts') ? ['Host: y'] : []),
      ...(has.has('long headers') ? [`X: ${'x'.repeat(17_000)}`] : []),
      ...(has.has('expectation') ? ['Expect: 200-ok'] : []),
      ...(has.has('no token') && !has.has('invalid token') ? [] : [`Authorization: Bearer ${token}`]),
      `Content-Type: ${has.has('media type') ? 'text/plain' : 'application/json'}`,
      `Content-Length: ${has.has('long body') ? 17 * 2 ** 20 : body.length}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n')
  }
})
