import { expect } from 'chai'
import { newNode, type TestNode } from '../support/node.ts'
import { client, password } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

interface Field {
  readonly loc: readonly (string | number)[]
  send(text: string): Promise<{ status: number; body: { detail?: { loc: unknown; type: string; msg: string }[] } }>
}

const everywhere = ['\u0000', '\u0007', '\u000b', '\u000c', '\u001b', '\u007f', '\u0085', '\u009b']
const lineEnds = ['\t', '\n', '\r', '\r\n']

describe('control characters', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let lines: Record<string, Field>
  let prose: Record<string, Field>

  before(async () => {
    node = await newNode(grove, ann)
    const krill = await newNode(grove, ann)
    await node.proposal('draft')
    await node.open('draft')
    let made = 0
    const nodes = `/orgs/${ann.org}/nodes`
    const pull = `${node.at}/pull-requests/1`
    const account = () => ({ email: `someone${made++}@example.org`, password })
    const change = (text: string) => [{ action: 'put', path: `${made++}.txt`, content: text }]
    lines = {
      'the name of a person': {
        loc: ['body', 'name'],
        send: (name) => client(grove).post('/auth/signup', { ...account(), name }),
      },
      'the name of a token': {
        loc: ['body', 'name'],
        send: (name) => ann.post('/auth/tokens', { name, access: 'read' }),
      },
      'the name of a new organisation': { loc: ['body', 'name'], send: (name) => ann.post('/orgs', { name }) },
      'the name of an organisation': { loc: ['body', 'name'], send: (name) => ann.patch(`/orgs/${ann.org}`, { name }) },
      'the title of a new node': { loc: ['body', 'title'], send: (title) => ann.post(nodes, { title }) },
      'the title of an empty node': {
        loc: ['body', 'title'],
        send: (title) => ann.post(nodes, { title, initialize: false }),
      },
      'the title of a node': { loc: ['body', 'title'], send: (title) => ann.patch(node.at, { title }) },
      'a tag': { loc: ['body', 'tags', 1], send: (tag) => ann.patch(node.at, { tags: ['sea', tag] }) },
      'the label of a parent': {
        loc: ['body', 'label'],
        send: (label) => ann.put(`${node.at}/parents/${krill.id}`, { label }),
      },
      'the label of a connection': {
        loc: ['body', 'label'],
        send: (label) => ann.post(`${node.at}/connections`, { target: krill.id, label }),
      },
      'the title of a request': { loc: ['body', 'title'], send: (title) => ann.patch(pull, { title }) },
      'the title of a new request': {
        loc: ['body', 'title'],
        send: (title) => ann.post(`${node.at}/pull-requests`, { source_branch: 'none', title }),
      },
    }
    prose = {
      'the text of a new node': {
        loc: ['body', 'text_content'],
        send: (text_content) => ann.post(nodes, { title: 'x', text_content }),
      },
      'the text of a node': {
        loc: ['body', 'text_content'],
        send: (text_content) => ann.patch(node.at, { text_content }),
      },
      'the message of an edit': {
        loc: ['body', 'message'],
        send: (message) => ann.patch(node.at, { text_content: `${made++}`, message }),
      },
      'the message of a commit': {
        loc: ['body', 'message'],
        send: (message) => ann.post(`${node.at}/tree/main/commits`, { message, changes: change('x') }),
      },
      'the description of a request': {
        loc: ['body', 'description'],
        send: (description) => ann.patch(pull, { description }),
      },
    }
  })

  const refused = async ({ loc, send }: Field, text: string, what: string) => {
    const { status, body } = await send(text)
    expect(
      [status, body.detail?.map(({ loc, type }) => ({ loc, type }))],
      `${what}: ${JSON.stringify(text)}`,
    ).to.deep.equal([422, [{ loc, type: 'string_pattern_mismatch' }]])
    expect(body.detail?.[0]?.msg, what).to.match(/^The text must not (be blank or )?contain control characters/)
  }

  it('are all refused in a text of one line', async () => {
    for (const [what, field] of Object.entries(lines)) {
      for (const character of [...everywhere, ...lineEnds]) await refused(field, `a${character}b`, what)
    }
  })

  it('are refused in a text of several lines, except tabs and line ends', async () => {
    for (const [what, field] of Object.entries(prose)) {
      for (const character of everywhere) await refused(field, `a${character}b`, what)
      for (const character of lineEnds) {
        const { status, body } = await field.send(`a${character}b`)
        expect(status, `${what}: ${JSON.stringify([character, body])}`).to.be.oneOf([200, 201])
      }
    }
  })

  it('that are line ends are kept in a text, and stored as \\n in a message', async () => {
    const text_content = '# Whales\r\n\tsing\rand dive\n'
    expect((await ann.patch(node.at, { text_content, message: 'One\r\nTwo\rThree' })).body.text_content).to.equal(
      text_content,
    )
    expect((await ann.get(`${node.at}/tree/main/commits?limit=1`)).body.history[0].message).to.equal('One\nTwo\nThree')
    const description = 'a\tb\r\nc'
    const { pr } = (await ann.patch(`${node.at}/pull-requests/1`, { description })).body
    expect(pr.description).to.equal(description)
  })

  it('include no letters of any script, which are accepted', async () => {
    for (const name of ['Ζωή', '雪', '🐋 whales', 'a\u2028b', 'a\u00a0b', '\u202eabc', 'e\u0301']) {
      expect((await ann.post('/orgs', { name })).body.name).to.equal(name)
    }
  })

  it('in node.json are refused by the same rule, however it is written', async () => {
    for (const field of ['title', 'label', 'tags'] as const) {
      for (const character of [...everywhere, ...lineEnds]) {
        const text = `a${character}b`
        const json = field === 'tags' ? { title: 'x', tags: [text] } : { [field]: text }
        const path = field === 'label' ? `parents/${node.id}.json` : 'node.json'
        const changes = [{ action: 'put', path, content: JSON.stringify(json) }]
        const { status, body } = await ann.post(`${node.at}/tree/draft/commits`, { message: 'x', changes })
        expect([status, body.detail?.[0].ctx?.path], JSON.stringify(json)).to.deep.equal([422, path])
      }
    }
  })

  it('may be in any file, but NUL in content.md, in JSON of one’s own and in a password', async () => {
    const text = everywhere.join('')
    await node.commit('draft', { 'odd.txt': text, 'content.md': text.replaceAll('\0', '') })
    const free = await ann.patch(node.at, { properties: { a: text, [text]: [text] } })
    expect(free.body.properties).to.deep.equal({ a: text, [text]: [text] })
    const account = { email: 'odd@example.org', password: `long ${text}` }
    expect((await client(grove).post('/auth/signup', account)).status).to.equal(201)
    expect((await client(grove).post('/auth/login', account)).status).to.equal(200)
  })
})
