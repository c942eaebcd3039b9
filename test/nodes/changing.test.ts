/** Changing a node, and what main makes of it. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, make, nodes, read, useScene } from './scene.ts'

describe('nodes', () => {
  useScene()

  describe('changing one', () => {
    it('is one commit on main', async () => {
      const node = await make({ text_content: 'Whales.', tags: ['sea'], properties: { a: 1, b: 2 } })
      const fields = {
        title: 'Dolphins',
        text_content: 'Dolphins.',
        tags: ['sea', 'mammal', 'sea'],
        properties: { c: { d: [] } },
      }
      const { status, body } = await ann.patch(node.at, { ...fields, message: 'All of it' })
      expect(status).to.equal(200)
      expect(body).to.deep.include({ ...fields, tags: ['sea', 'mammal'], head: node.git.head() })
      expect(await read(node)).to.deep.equal(body)
      const { history } = (await ann.get(`${node.at}/tree/main/commits`)).body
      expect(history.map((commit: { message: string }) => commit.message)).to.deep.equal(['All of it', 'Create node'])
    })

    it('leaves as it is what is not given, and what is null', async () => {
      const node = await make({ text_content: 'Whales.', tags: ['sea'], properties: { a: 1 } })
      await ann.patch(node.at, { title: 'Dolphins', tags: null }).then(expecting(200))
      expect(await read(node)).to.deep.include({
        title: 'Dolphins',
        text_content: 'Whales.',
        tags: ['sea'],
        properties: { a: 1 },
      })
    })

    it('takes away tags, properties and text that are given empty', async () => {
      const node = await make({ text_content: 'Whales.', tags: ['sea'], properties: { a: 1 } })
      await ann.patch(node.at, { text_content: '', tags: [], properties: {} }).then(expecting(200))
      expect(await read(node)).to.deep.include({ text_content: '', tags: [], properties: {} })
    })

    it('is no commit if nothing changes', async () => {
      const fields = { title: 'Whales', text_content: 'Whales.', tags: ['sea'], properties: { a: 1 } }
      const node = await make(fields)
      const body = await read(node)
      for (const same of [{}, fields, { title: 'Whales' }, { message: 'Nothing' }]) {
        expect(await ann.patch(node.at, same)).to.deep.equal({ status: 200, body })
      }
      expect(node.git.log()).to.have.length(1)
    })

    it('keeps the keys of node.json that are none of ours', async () => {
      const node = await make({ tags: ['sea'] })
      const file = { licence: 'CC0', title: 'Whales', tags: ['sea'], properties: {}, more: { a: [1] } }
      await node.commit('main', { 'node.json': JSON.stringify(file) })
      await ann.patch(node.at, { title: 'Dolphins' }).then(expecting(200))
      expect(JSON.parse(node.git.say('show', 'main:node.json'))).to.deep.equal({ ...file, title: 'Dolphins' })
    })

    it('works where node.json begins with a byte order mark', async () => {
      const node = await make()
      await node.commit('main', { 'node.json': `\ufeff${JSON.stringify({ title: 'Marked', more: 1 })}` })
      expect((await ann.patch(node.at, { tags: ['sea'] })).body).to.deep.include({ title: 'Marked', tags: ['sea'] })
      expect(JSON.parse(node.git.say('show', 'main:node.json'))).to.include({ title: 'Marked', more: 1 })
    })

    it('happens only at the expected head', async () => {
      const node = await make()
      const first = node.git.head()
      const second = await node.commit('main', { 'a.md': 'a' })
      const moved = {
        status: 409,
        body: {
          detail: `The branch has moved since you read it (now at ${second}); nothing was changed`,
          code: 'head_moved',
          current_head: second,
        },
      }
      expect(await ann.patch(node.at, { title: 'Dolphins', expected_head: first })).to.deep.equal(moved)
      expect(await ann.patch(node.at, { title: 'Dolphins', expected_head: null })).to.deep.equal(moved)
      expect(node.git.head()).to.equal(second)
      expect((await ann.patch(node.at, { title: 'Dolphins', expected_head: second })).status).to.equal(200)
    })

    it('refuses what has the wrong shape', async () => {
      const node = await make()
      const wrong: [object, (string | number)[], string][] = [
        [{ title: ' ' }, ['body', 'title'], 'string_pattern_mismatch'],
        [{ title: '' }, ['body', 'title'], 'string_too_short'],
        [{ title: 7 }, ['body', 'title'], 'string_type'],
        [{ tags: [''] }, ['body', 'tags', 0], 'string_too_short'],
        [{ tags: 'sea' }, ['body', 'tags'], 'list_type'],
        [{ properties: [] }, ['body', 'properties'], 'dict_type'],
        [{ message: '\n' }, ['body', 'message'], 'string_pattern_mismatch'],
        [{ expected_head: 'main' }, ['body', 'expected_head'], 'string_pattern_mismatch'],
        [{ parents: [] }, ['body', 'parents'], 'extra_forbidden'],
      ]
      for (const [change, loc, type] of wrong) {
        const { status, body } = await ann.patch(node.at, change)
        const [first] = body.detail
        expect([status, first.loc, first.type], JSON.stringify(change)).to.deep.equal([422, loc, type])
      }
      expect(node.git.log()).to.have.length(1)
    })
  })

  describe('what main holds', () => {
    it('is the text of README.md if there is no content.md', async () => {
      const node = await make()
      await node.commit('main', { 'README.md': '# Read me', 'docs/README.md': '# Not me' })
      expect((await read(node)).text_content).to.equal('# Read me')
      await node.commit('main', { 'content.md': '# Me first' })
      expect((await read(node)).text_content).to.equal('# Me first')
      await node.commit('main', { 'content.md': null })
      expect((await read(node)).text_content).to.equal('# Read me')
    })

    it('is the title of creation where node.json has none, or is not there', async () => {
      const node = await make({ title: 'Given', tags: ['sea'] })
      await node.commit('main', { 'node.json': '{"tags": ["land"]}' })
      expect(await read(node)).to.deep.include({ title: 'Given', tags: ['land'], properties: {} })
      const elsewhere = node.git.commit({ files: { 'node.json': null }, parents: [node.git.head()] })
      node.git.point('main', elsewhere)
      await node.commit('main', { 'song.md': 'They sing.' })
      expect(await read(node)).to.deep.include({ title: 'Given', tags: [], properties: {} })
      await ann.patch(node.at, { properties: { a: 1 } }).then(expecting(200))
      expect(JSON.parse(node.git.say('show', 'main:node.json'))).to.deep.equal({
        title: 'Given',
        tags: [],
        properties: { a: 1 },
      })
    })

    it('is that of main, whatever other branches say', async () => {
      const node = await make({ title: 'Main' })
      await node.branch('draft')
      await node.commit('draft', { 'node.json': '{"title": "Draft"}', 'content.md': 'Draft' })
      expect(await read(node)).to.deep.include({ title: 'Main', text_content: '' })
    })

    it('counts a tag once that node.json names twice', async () => {
      const node = await make()
      await node.commit('main', { 'node.json': '{"tags": ["sea", "sea"]}' })
      expect((await read(node)).tags).to.deep.equal(['sea'])
      expect((await ann.get(`${nodes}?tag=sea&limit=200`)).status).to.equal(200)
    })
  })
})
