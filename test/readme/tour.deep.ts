/** Runs the tour of spec/README.md, and the section that continues it, in a clean clone. */

import { execFileSync } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { client } from '../support/people.ts'
import { clone, environment, jq, run, service, startAgain, useClone } from './clone.ts'
import { type Block, blocksOf, tour, tourSections } from './tour.ts'

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

describe('spec/README.md', () => {
  useClone()

  describe('the tour', () => {
    let said: string[]
    let blocks: Block[]

    before(async () => {
      said = await tour(clone, service.url)
      blocks = await blocksOf(clone, tourSections)
    })

    it('signs up, and reads the new user', () => {
      const [user, ...more] = jsonOf(said[0])
      expect(more).to.deep.equal([])
      expect(user).to.include({ email: 'ann@example.org', name: 'Ann' })
      expect(user.org_id).to.match(new RegExp(`^${uuid}$`))
    })

    it('creates a node and a child of it', () => {
      const [node, ...more] = jsonOf(said[1])
      expect(more).to.deep.equal([])
      expect(node.parents[0].id).to.match(new RegExp(`^${uuid}$`))
      expect(node).to.include({ title: 'Blue whale', num_ancestors: 1, text_content: 'The largest animal known.' })
      expect(node.parents).to.have.length(1)
      expect(node.parents[0]).to.include({ title: 'Whales' })
    })

    it('shows responses as the service gives them, apart from ids, times and scores', () => {
      const shown = blocks.flatMap(({ sample }, at) => (sample === undefined ? [] : [{ at, sample }]))
      expect(shown.map(({ at }) => at)).to.deep.equal([0, 1, 5])
      for (const { at, sample } of shown) {
        const printed = jsonOf(said[at]).map((value) => masked(JSON.stringify(value)))
        expect(printed, `block ${at}`).to.include(masked(JSON.stringify(JSON.parse(sample))))
      }
    })

    it('clones a node, whose tree is its content', () => {
      expect(said[2]).to.match(
        /^Whales are marine mammals\.\n\{\n {2}"title": "Whales",\n[\s\S]*\n\}\n[0-9a-f]{7} Ann Create node\n$/,
      )
    })

    it('proposes a change and merges it', () => {
      const [head, modified, pull, comment, merged, history] = jsonOf(said[3])
      expect(head).to.match(/^[0-9a-f]{40}$/)
      expect(modified.map((change: { entity_key: string }) => change.entity_key)).to.deep.equal(['content.md'])
      expect([pull, comment, merged, history]).to.deep.equal([
        { number: 1, can_merge: true, merge_reason: 'mergeable' },
        { entry: 1, author: 'Ann' },
        { status: 'merged', merged_by: 'Ann' },
        { total: 2, messages: ['Dolphins too', 'Create node'] },
      ])
    })

    it('shows Git the same history, pushes, merges by a push, and shows why another push is refused', () => {
      expect(said[4]).to.match(
        /^[0-9a-f]{7} Dolphins too\n[0-9a-f]{7} Create node\ntrue\nremote: Pull request 2 is merged: And porpoises *\nremote: porpoises: node\.json: This file is not valid JSON: line 3: .*\nTo http.*\n ! \[remote rejected\] porpoises -> porpoises \(node\.json: This file is not valid JSON: line 3: .*\)\nerror: failed to push .*\n$/,
      )
    })

    it('searches, takes in what is linked with the matches, and publishes the graph', () => {
      const [type, { matches, nodes, connections }, ...published] = jsonOf(said[5])
      expect(type).to.equal('is_a')
      expect(matches).to.have.length(1)
      expect(matches[0]).to.include({ title: 'Blue whale' })
      expect(matches[0].snippet).to.match(/^The largest animal known/)
      expect(matches[0].score).to.be.above(0)
      expect(nodes).to.deep.equal([
        { title: 'Blue whale', relation: 'match' },
        { title: 'Whales', relation: 'parent' },
      ])
      expect(connections).to.equal(2)
      expect(published).to.deep.equal([true, { org_name: 'Ann', total_nodes: 2, total_edges: 2 }])
    })

    it('rebuilds the index from Git', () => {
      expect(said[6]).to.equal('1 organisation and 2 nodes indexed\n"merged"\n')
    })

    it('shows what it changed, who wrote it, and its bytes', () => {
      const [, changed = '', patch = '', written = ''] =
        /^(\{[\s\S]*?\n\}\n)(diff --git [\s\S]*?\n)(\{"summary"[\s\S]*)$/.exec(said[7] ?? '') ?? []
      expect(jsonOf(changed)).to.deep.equal([{ entity_key: 'content.md', additions: 1, deletions: 0 }])
      expect(patch).to.match(/^diff --git a\/content\.md b\/content\.md\n[\s\S]*\n\+Porpoises are toothed whales\.\n$/)
      expect(written).to.equal(
        '{"summary":"Create node","author":"Ann","pull_request":null}\n' +
          '{"summary":"Dolphins too","author":"Ann","pull_request":1}\n' +
          '{"summary":"Porpoises too","author":"Ann","pull_request":2}\n' +
          '3\nWhales are marine mammals.\nDolphins are toothed whales.\nPorpoises are toothed whales.\n',
      )
    })

    it('answers with passages within a budget, and suggests titles', () => {
      const [nodes, titles] = jsonOf(said[8])
      expect(nodes.map(({ title }: { title: string }) => title)).to.deep.equal(['Blue whale', 'Whales'])
      expect(nodes[0].passages[0]).to.match(/^The largest animal known/)
      expect(titles).to.deep.equal(['Whales', 'Blue whale'])
    })

    it('proposes several pages, merges them and undoes it', () => {
      expect(jsonOf(said[9])).to.deep.equal([
        { number: 1, acts: ['delete', 'create', 'change'], can_merge: true },
        1,
        'merged',
        { number: 2, status: 'merged', acts: ['delete', 'restore', 'change'] },
      ])
    })

    it('imports a folder, and finds nothing to do the second time (server/features/vault/README.md)', () => {
      const summary = `notes \\(${uuid}\\): 4 nodes, 3 parent edges, 2 connections, 0 attachments\n`
      expect(said[10]).to.match(
        new RegExp(`^${summary}4 created, 0 updated, 0 unchanged\n${summary}0 created, 0 updated, 4 unchanged\n$`),
      )
    })

    it.deep('makes the index of both organisations again', async () => {
      const { stdout } = await run('npm', ['run', '-s', 'grove', '--', 'reindex'], { cwd: clone, env: environment() })
      expect(stdout).to.equal('2 organisations and 6 nodes indexed\n')
    })

    it('has no further step', () => {
      expect(said).to.have.length(11)
    })

    it.deep('survives that index.sqlite is deleted: the next start makes it again', async () => {
      const { accessToken, user } = JSON.parse(await readFile(join(clone, 'session.json'), 'utf8'))
      const graph = `/public/orgs/${user.org_id}/graph`
      const before = await client(service).get(graph)
      await service.stop()
      for (const end of ['', '-wal', '-shm']) await rm(join(clone, `repos/index.sqlite${end}`), { force: true })
      await startAgain()
      expect(before.status).to.equal(200)
      expect(await client(service).get(graph)).to.deep.equal(before)
      const nodes = await client(service, accessToken).get(`/orgs/${user.org_id}/nodes`)
      const whales = nodes.body.nodes.find((node: { title: string }) => node.title === 'Whales')
      const pull = await client(service, accessToken).get(`/orgs/${user.org_id}/nodes/${whales.id}/pull-requests/1`)
      expect(pull.body.pr).to.include({ status: 'merged', merged_by: 'Ann' })
    })
  })
})

// biome-ignore lint/suspicious/noExplicitAny: whatever jq printed
type Json = any // the tour says what it expects

/** The JSON of a response with zeros for ids, times, scores, and the service's URL. */
function masked(json: string): string {
  return json
    .replace(new RegExp(uuid, 'g'), '0')
    .replace(/\b[0-9a-f]{40}\b/g, '0')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '0')
    .replace(/"score":[\d.]+/g, '0')
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, '0')
}

function jsonOf(text = ''): Json[] {
  return JSON.parse(execFileSync(jq, ['-s', '.'], { input: text }).toString())
}
