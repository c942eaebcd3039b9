/** The trailer `Grove-Via` in messages of every shape. `git interpret-trailers` is the oracle. */

import { execFileSync } from 'node:child_process'
import { expect } from 'chai'
import fc from 'fast-check'
import { environment } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

const scissors = `# ${'-'.repeat(24)} >8 ${'-'.repeat(24)}`

/** Lines that git treats in a special way, and ordinary ones. */
const lines = [
  'Say what whales breathe',
  'fix: a subject with a colon',
  '',
  '   ',
  '\t',
  '---',
  '--- a line of a patch',
  '# a comment',
  '#',
  'Signed-off-by: Bob <bob@example.org>',
  'Co-authored-by: Zoë <zoe@example.org>',
  'Reviewed-by : Eve',
  '(cherry picked from commit 0123456789012345678901234567890123456789)',
  'Fixes #12',
  ' continued',
  '\tcontinued too',
  'Conflicts:',
  'key:value',
  ': no key',
  'not a key: value',
  'Grove-Viable: yes',
  'See Grove-Via: in the middle',
  '> Quoted words',
  'https://example.org/a:b',
  scissors,
  '🐋 Wale',
]

const messages = fc
  .tuple(
    fc.array(fc.constantFrom(...lines), { minLength: 1, maxLength: 9 }),
    fc.constantFrom('\n', '\r\n', '\r'),
    fc.constantFrom('', '\n', '\n\n', '\n \n'),
  )
  .map(([parts, end, last]) => parts.join(end) + last)
  .filter((message) => /^[^\S\x0b\x0c]*[^\s]/.test(message))

describe('the trailer of an agent', () => {
  let grove: Grove
  let ann: PersonClient
  let node: TestNode

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann)
  })
  after(() => grove.close())

  const git = (args: readonly string[], input: string) =>
    execFileSync('git', args, { env: environment(node.git.dir), input, stdio: 'pipe' }).toString()
  /** Git's own reading of the trailers of a commit message. */
  const trailersOf = (message: string) =>
    git(['interpret-trailers', '--parse', '--no-divider'], `${message.replace(/\n+$/, '')}\n`)
      .split('\n')
      .filter(Boolean)
  const committed = async (message: string, headers = {}) => {
    const changes = [{ action: 'put', path: 'a.txt', content: `${message}${Math.random()}` }]
    const path = `${node.at}/tree/main/commits`
    const { id } = (await ann.post(path, { message, changes }, headers).then(expecting(201))).body
    return (await ann.get(`${node.at}/tree/main/commits/${id}`).then(expecting(200))).body
  }
  const stored = (id: string) => {
    const content = node.git.run(['cat-file', 'commit', id]).toString()
    return content.slice(content.indexOf('\n\n') + 2)
  }

  it('is found by git after every message, and hides no other trailer', async function () {
    this.timeout(60_000)
    const property = fc.asyncProperty(messages, async (message) => {
      const sent = message.replace(/\r\n?/g, '\n')
      const own = await committed(message)
      const plain = stored(own.id)
      expect(plain).to.equal(`${sent.replace(/^\n+|\n+$/g, '')}\n`)
      expect(own).to.not.have.property('via')
      const { id, via } = await committed(message, { 'grove-agent': 'scribe/1.0' })
      const signed = stored(id)
      const found = trailersOf(signed)
      expect(found.at(-1)).to.equal('Grove-Via: rest agent:scribe/1.0')
      // Git reads a last paragraph of conflicts only as trailers if something follows.
      expect(found).to.include.members(trailersOf(plain))
      expect(via).to.deep.equal({
        door: 'rest',
        client: 'agent:scribe/1.0',
        client_name: 'scribe/1.0',
        recorded: 'message',
      })
      const kept = signed.replace('Grove-Via: rest agent:scribe/1.0\n', '').replace(/\s+/g, ' ').trim()
      expect(kept.replace(/^No message /, '')).to.equal(plain.replace(/\s+/g, ' ').trim())
    })
    await fc.assert(property, { numRuns: 50 })
  })

  it('stands in a paragraph of its own after a subject, and joins trailers', async () => {
    const shapes: [string, string][] = [
      ['Subject', 'Subject\n\nGrove-Via: rest agent:a\n'],
      ['fix: subject', 'fix: subject\n\nGrove-Via: rest agent:a\n'],
      ['Subject\n\nBody: one\nand text', 'Subject\n\nBody: one\nand text\n\nGrove-Via: rest agent:a\n'],
      ['Subject\n\nKey: one\n', 'Subject\n\nKey: one\nGrove-Via: rest agent:a\n'],
      ['Subject\n\n---\nA patch', 'Subject\n\n---\nA patch\n\nGrove-Via: rest agent:a\n'],
      [`Subject\n${scissors}\nrest`, `Subject\n\nGrove-Via: rest agent:a\n\n${scissors}\nrest\n`],
      [`${scissors}\nrest`, `No message\n\nGrove-Via: rest agent:a\n\n${scissors}\nrest\n`],
    ]
    for (const [message, expected] of shapes)
      expect(stored((await committed(message, { 'grove-agent': 'a' })).id)).to.equal(expected)
  })

  it('is refused in a message that brings its own, in every operation with a message', async () => {
    const own = ['x\n\nGrove-Via: mcp token 00000000', 'x\r\ngrove-via : y', 'Grove-Via: z', 'x\n\nA: b\nGROVE-VIA:\n']
    const version = node.git.head()
    for (const message of own)
      for (const [answer, loc] of [
        [
          ann.post(`${node.at}/tree/main/commits`, { message, changes: [{ action: 'put', path: 'b', content: 'b' }] }),
          ['body', 'message'],
        ],
        [ann.patch(node.at, { title: 'Other', message }), ['body', 'message']],
        [ann.post(`${node.at}/branches/main/restore`, { commit: version, message }), ['body', 'message']],
        [
          ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes: [{ ref: 'a', title: 'A', message }] }),
          ['body', 'nodes', 0, 'message'],
        ],
      ] as const) {
        const { status, body } = await answer
        expect([status, body.detail?.[0]?.loc], `${message} ${JSON.stringify(body)}`).to.deep.equal([422, loc])
      }
    expect(node.git.head()).to.equal(version)
  })

  it('needs a name of a program that is well-formed', async () => {
    for (const name of ['', ' ', 'two words', 'x'.repeat(65), 'a<b>', 'é', 'a, b', 'a;b', '--\u00a0>'])
      expect((await ann.get('/orgs', { 'grove-agent': Buffer.from(name).toString('latin1') })).status, name).to.equal(
        422,
      )
    for (const name of ['x', 'x'.repeat(64), 'Claude-Code/2.1_b.3', '-->'.slice(0, 2)])
      expect((await ann.get('/orgs', { 'grove-agent': name })).status, name).to.equal(200)
    expect((await ann.get('/orgs', { 'grove-agent': 'two words' })).body.detail[0].loc).to.deep.equal([
      'header',
      'Grove-Agent',
    ])
  })
})
