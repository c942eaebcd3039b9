/** JSON that cannot be decoded, and what is said of where. */

import { expect } from 'chai'
import { ann, grove, problems, useScene } from './scene.ts'

describe('input: JSON', () => {
  useScene()

  /** Line and column of what JSON cannot have there. */
  const faults: readonly [string, line: number, column: number][] = [
    ['{', 1, 2],
    ['{"a":1}}', 1, 8],
    ['\u0000', 1, 1],
    ["{'a': 1}", 1, 2],
    ['NaN', 1, 1],
    ['nul', 1, 4],
    ['[1, 02]', 1, 6],
    ['{"a": 1.e5}', 1, 9],
    ['{"a": -}', 1, 8],
    ['{\n  "a": 1,\n}', 3, 1],
    ['{\r\n\t"a" 1}', 2, 6],
    ['{"a": "\u{1f33f}", b: 2}', 1, 13],
    ['["a\nb"]', 1, 4],
    ['["\\u12x"]', 1, 7],
    ['["\\q"]', 1, 4],
    ['[\n"secret', 2, 8],
    [`{"text":"${'x\\n'.repeat(100_000)}", "password": hunter2}`, 1, 300_025],
  ]
  for (const [body, line, column] of faults) {
    it(`that is invalid is json_invalid, with line and column: ${JSON.stringify(body).slice(0, 30)}`, async () => {
      const detail = [{ loc: ['body'], msg: 'JSON decode error', type: 'json_invalid', ctx: { line, column } }]
      expect(await problems(ann.post('/orgs', body))).to.deep.equal(detail)
    })
  }

  it('that is invalid beyond a million characters is json_invalid, without a place', async () => {
    const detail = [{ loc: ['body'], msg: 'JSON decode error', type: 'json_invalid' }]
    expect(await problems(ann.post('/orgs', `{"name":"${'x'.repeat(1_048_576)}`))).to.deep.equal(detail)
  })

  it('that is invalid is refused without showing its content', async () => {
    const answer = await ann.post(
      '/auth/password',
      '{"old_password": "correct horse battery", "new_password": hunter2}',
    )
    expect(answer.status).to.equal(422)
    expect(JSON.stringify(answer.body)).to.not.match(/correct|hunter2/)
  })

  it('that is not UTF-8 is json_invalid, and is not read as something else', async () => {
    const headers = { authorization: `Bearer ${ann.session.accessToken}`, 'content-type': 'application/json' }
    const send = async (...parts: Buffer[]) => {
      const body = new Uint8Array(Buffer.concat(parts))
      const answer = await fetch(`${grove.url}/orgs`, { method: 'POST', headers, body })
      return [answer.status, await answer.json()]
    }
    const refused = (line: number, column: number) => [
      422,
      { detail: [{ loc: ['body'], msg: 'JSON decode error', type: 'json_invalid', ctx: { line, column } }] },
    ]
    expect(await send(Buffer.from('{"name":"caf\u00e9"}', 'latin1'))).to.deep.equal(refused(1, 13))
    const before = Buffer.from('{\n"name":"\ufffd\u{1f33f}')
    expect(await send(before, Buffer.from([0xef, 0xbf, 0x22]))).to.deep.equal(refused(2, 12))
    expect(await send(before, Buffer.from([0xe2, 0x82]))).to.deep.equal(refused(2, 12))
  })
})
