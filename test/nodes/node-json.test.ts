/** node.json: what may stand in it, and that an edit changes only what it names. */
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const kib = 1_024

describe('node.json', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })

  /** As an older service, or git by file path, has left it. */
  async function withFiles(files: Record<string, string>): Promise<TestNode> {
    const node = await newNode(grove, ann)
    node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
    return node
  }

  const textOf = (node: TestNode) => node.git.run(['show', 'main:node.json']).toString()
  const commit = (node: TestNode, path: string, content: string, branch = 'main') =>
    ann.post(`${node.at}/tree/${branch}/commits`, { message: 'Put', changes: [{ action: 'put', path, content }] })
  /** The message of the only problem. */
  const told = ({ status, body }: Answer) => {
    expect([status, body.detail?.length], JSON.stringify(body).slice(0, 300)).to.deep.equal([422, 1])
    return body.detail[0].msg
  }

  describe('by an edit of something else', () => {
    it('keeps every letter, in the style in which it is written', async () => {
      const odd = '{\r\n\t"more": [1.0, 1e2,"\\u00e9"],\r\n\t"title":   "Old",\r\n\t"properties": { "n": 0.10 }\r\n}'
      const node = await withFiles({ 'node.json': odd })
      await ann.patch(node.at, { tags: ['a', 'b', 'a'] }).then(expecting(200))
      const tags = ',\n\t"tags": [\n\t  "a",\n\t  "b"\n\t]'
      expect(textOf(node)).to.equal(odd.replace(' }\r\n}', ` }${tags}\r\n}`))
      await ann.patch(node.at, { title: 'New' }).then(expecting(200))
      expect(textOf(node)).to.equal(odd.replace(' }\r\n}', ` }${tags}\r\n}`).replace('"Old"', '"New"'))
      await ann.patch(node.at, { tags: ['a', 'b'], title: 'New', properties: { n: 0.1 } }).then(expecting(200))
      expect(node.git.log()).to.have.length(4)
    })

    it('is as a new one would be where it was written so', async () => {
      const node = await newNode(grove, ann, { title: 'Old', tags: ['a'], properties: { a: { b: [1] } } })
      await ann.patch(node.at, { title: 'New', tags: ['b'], properties: { c: [{}, { d: 'e' }] } }).then(expecting(200))
      const whole = { title: 'New', tags: ['b'], properties: { c: [{}, { d: 'e' }] } }
      expect(textOf(node)).to.equal(`${JSON.stringify(whole, null, 2)}\n`)
    })

    it.deep('stays on one line where it is, though it is nearly as large as it may be', async () => {
      const keys = Array.from({ length: 60_000 }, (_, i) => `"key${i}":${i}`).join(',')
      const text = `{"title":"Large",${keys},"tags":[]}`
      const node = await newNode(grove, ann)
      expect((await commit(node, 'node.json', text)).status).to.equal(201)
      await ann.patch(node.at, { tags: ['t'] }).then(expecting(200))
      expect(textOf(node)).to.equal(text.replace('"tags":[]', '"tags":["t"]'))
    })

    it('writes what changes on one line where it would be too large in several', async () => {
      const rest = `"pad": "${'x'.repeat(900 * kib)}"`
      const node = await withFiles({ 'node.json': `{\n  "title": "Large",\n  ${rest}\n}` })
      const properties = { a: Array(30_000).fill(1) }
      await ann.patch(node.at, { properties }).then(expecting(200))
      const written = `"properties":${JSON.stringify(properties)}`
      expect(textOf(node) === `{\n  "title": "Large",\n  ${rest},${written}\n}`).to.equal(true)
    })

    it('keeps numbers and names that JavaScript would lose, if an older service took them', async () => {
      const members = '"n": 123456789012345678901, "m": 1e999, "m": {"a": 1, "a": 2}'
      const node = await withFiles({ 'node.json': `{"title": "Old", "title": "Older", ${members}}` })
      await ann.patch(node.at, { tags: ['t'] }).then(expecting(200))
      expect(textOf(node)).to.equal(`{"title": "Old", "title": "Older", ${members},"tags":["t"]}`)
      await ann.patch(node.at, { title: 'New' }).then(expecting(200))
      expect(textOf(node)).to.equal(`{"title": "New", ${members},"tags":["t"]}`)
      await node.commit('main', { 'a.txt': 'a' })
      await node.branch('draft')
      expect(told(await commit(node, 'node.json', `{${members}, "p": 1e999}`, 'draft'))).to.match(
        /^node.json: JSON cannot store the number 1e999 at p exactly/,
      )
    })
  })

  it('keeps a title and tags with control characters, if an older service took them, and takes no other', async () => {
    const node = await withFiles({ 'node.json': '{"title": "a\\tb", "tags": ["c\\td"]}' })
    await node.commit('main', { 'a.txt': 'a' })
    const { status } = await commit(node, 'node.json', '{"title": "a\\tb", "tags": ["c\\td"], "more": 1}')
    expect(status).to.equal(201)
    await ann.patch(node.at, { properties: { n: 1 } }).then(expecting(200))
    await node.commit('main', { 'node.json': '{"title": "Plain"}' })
    expect(told(await commit(node, 'node.json', '{"title": "a\\tb"}'))).to.match(/^node.json: `title` must be/)
    expect(told(await commit(node, 'node.json', '{"tags": ["a\\tb"]}'))).to.match(/^node.json: `tags` must be/)
  })

  it('is not written from properties that parsing has changed, in creation and change', async () => {
    const node = await newNode(grove, ann)
    const lost = {
      '{"a": 1, "a": 2}': 'The field properties.a appears twice',
      '{"n": [1e400]}': 'JSON cannot store the number 1e400 at properties.n[0] exactly; write it as a string',
      '{"n": 9007199254740993}':
        'JSON cannot store the number 9007199254740993 at properties.n exactly; write it as a string',
    }
    for (const [properties, msg] of Object.entries(lost)) {
      const refused = { status: 422, body: { detail: [{ loc: ['body', 'properties'], msg, type: 'value_error' }] } }
      const body = `{"title": "Whales", "properties": ${properties}}`
      expect(await ann.patch(node.at, body)).to.deep.equal(refused)
      expect(await ann.post(`/orgs/${ann.org}/nodes`, body)).to.deep.equal(refused)
    }
    const kept = '{"title": "Whales", "properties": {"n": [0.1, -0, 1e21, 9007199254740991, "9007199254740993"]}}'
    const { properties } = (await ann.patch(node.at, kept).then(expecting(200))).body
    expect(properties).to.deep.equal({ n: [0.1, 0, 1e21, 9007199254740991, '9007199254740993'] })
  })

  describe('refused, by its path', () => {
    const number = (at: string, written: string) =>
      `node.json: JSON cannot store the number ${written} at ${at} exactly; write it as a string`
    const long = '9'.repeat(200)
    const wrong: Record<string, string> = {
      '{"a": 1, "a": 1}': 'node.json: The field a appears twice',
      '{"a": {"b": [0, {"c": 1, "\\u0063": 2}]}}': 'node.json: The field a.b[1].c appears twice',
      '{"properties": {"n": 123456789012345678901}}': number('properties.n', '123456789012345678901'),
      '{"n": [0, -9007199254740993]}': number('n[1]', '-9007199254740993'),
      '{"n": 1e999}': number('n', '1e999'),
      '{"n": 1e-999}': number('n', '1e-999'),
      [`{"n": ${long}}`]: number('n', `${long.slice(0, 100)}…`),
      [`{"${'k'.repeat(200)}": 1e999}`]: number(`${'k'.repeat(100)}…`, '1e999'),
      '{"title": "a\\tb"}':
        'node.json: `title` must be a non-blank string of 1 to 500 characters, without control characters',
      '{"tags": ["a", "b\\u0085"]}':
        'node.json: `tags` must be an array of at most 100 strings of 1 to 100 characters, without control characters',
    }
    for (const [content, message] of Object.entries(wrong)) {
      it(content.slice(0, 60), async () => {
        const node = await newNode(grove, ann)
        expect(told(await commit(node, 'node.json', content))).to.equal(message)
        expect(node.git.log()).to.have.length(1)
      })
    }

    it('but not for numbers that are only written otherwise', async () => {
      const numbers =
        '[0, -0, 0.0e5, 1.50, 1e2, 1E+2, 3.14159265358979323846, 9007199254740991, 1e30, 100000000000000000000]'
      const node = await newNode(grove, ann)
      expect((await commit(node, 'node.json', `{"text": "{\\"a\\": 1e999, \\\\", "n": ${numbers}}`)).status).to.equal(
        201,
      )
    })

    it('with the labels of edges', async () => {
      const [node, other] = [await newNode(grove, ann), await newNode(grove, ann)]
      const label = '"label": "a\\nb"'
      for (const [path, content] of [
        [`parents/${other.id}.json`, `{${label}}`],
        ['connections/a.json', `{"target": "${other.id}", ${label}}`],
      ] as const)
        expect(told(await commit(node, path, content))).to.equal(
          `${path}: \`label\` must be a string of at most 500 characters, without control characters`,
        )
    })
  })

  describe('with properties', () => {
    const reason = 'node.json: `properties` must not be larger than 64 KiB as JSON on one line'
    /** `bytes` of JSON. */
    const properties = (bytes: number) => ({ a: 'é'.repeat((bytes - 8) / 2) })

    it('of 64 KiB at most, wherever they come from', async () => {
      const node = await newNode(grove, ann, { properties: properties(64 * kib) })
      const larger = properties(64 * kib + 2)
      expect(Buffer.byteLength(JSON.stringify(larger))).to.equal(64 * kib + 2)
      const fields = { title: 'Large', properties: larger }
      expect(told(await ann.post(`/orgs/${ann.org}/nodes`, fields))).to.equal(reason)
      expect(told(await ann.patch(node.at, { properties: larger }))).to.equal(reason)
      expect(told(await commit(node, 'node.json', JSON.stringify(fields)))).to.equal(reason)
      expect((await ann.get(node.at)).body.properties).to.deep.equal(properties(64 * kib))
    })

    it('is written on one line where lines of its own would make it too large', async () => {
      let deep: unknown = Array.from({ length: 20_000 }, () => 1)
      for (let level = 0; level < 90; level++) deep = [deep]
      const node = await newNode(grove, ann, { properties: { deep } })
      expect(textOf(node)).to.equal(`${JSON.stringify({ title: 'Whales', tags: [], properties: { deep } })}\n`)
      await ann.patch(node.at, { properties: { deep, more: 1 } }).then(expecting(200))
    })

    it('that were larger before reads and edits, as long as they do not grow', async () => {
      const node = await withFiles({ 'node.json': JSON.stringify({ properties: properties(100 * kib) }) })
      expect((await ann.get(node.at)).body.properties).to.deep.equal(properties(100 * kib))
      await ann.patch(node.at, { title: 'Still', text_content: 'Still.' }).then(expecting(200))
      await node.commit('main', { 'a.txt': 'a' })
      await node.proposal('draft')
      expect((await node.open('draft')).merge_reason).to.equal('mergeable')
      expect(told(await ann.patch(node.at, { properties: properties(100 * kib + 2) }))).to.equal(reason)
      await ann.patch(node.at, { properties: properties(90 * kib) }).then(expecting(200))
      expect(told(await ann.patch(node.at, { properties: properties(100 * kib) }))).to.equal(reason)
    })
  })
})
