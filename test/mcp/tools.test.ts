/** The answer of each tool, over HTTP in both revisions and over standard input. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { addMeaning, modelElsewhere } from '../support/meant.ts'
import { pageAt } from '../support/pages.ts'
import { ann, connectHttp, connectStdio, factsIn, grove, type Model, parted, tokenOf, useScene } from './scene.ts'

const reading = [
  'list_organisations',
  'search',
  'read_node',
  'list_nodes',
  'list_properties',
  'list_types',
  'neighbours',
  'history',
  'diff',
  'list_proposals',
  'read_discussion',
  'waiting',
  'list_trash',
]
const writing = ['propose_change', 'propose_changes', 'create_node', 'connect', 'comment', 'suggest']

const doors = {
  'HTTP, 2026-07-28': (token: string) => connectHttp(token, '2026-07-28'),
  'HTTP, 2025-11-25': (token: string) => connectHttp(token, '2025-11-25'),
  'standard input, 2026-07-28': (token: string) => connectStdio(token, '2026-07-28'),
  'standard input, 2025-11-25': (token: string) => connectStdio(token, '2025-11-25'),
} as const

describe('the tools of /mcp', () => {
  useScene({ embeddings: modelElsewhere })

  for (const [door, connect] of Object.entries(doors))
    describe(`over ${door}`, () => {
      let model: Model
      let org_id: string
      let whales: string
      let blue: string
      let head: string

      before(async () => {
        org_id = ann.org
        model = await connect(await tokenOf('write'))
        const text_content = 'Whales are mammals.\n\nThey [sing](https://example.org/song).\n'
        const node = await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Whales', text_content, tags: ['sea'] }))
        whales = node.id
        head = node.head
        blue = (await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Blue whale', parents: [whales] }))).id
      })

      it.deep(
        'are thirteen for a token that reads, three more for one that proposes, six for one that writes',
        async () => {
          const reader = await connect(await tokenOf('read'))
          const agent = await connect(await tokenOf('propose'))
          const proposing = writing.filter((name) => ['propose_change', 'propose_changes', 'connect'].includes(name))
          expect((await agent.client.listTools()).tools.map(({ name }) => name)).to.deep.equal([
            ...reading,
            ...proposing,
          ])
          expect(agent.client.getInstructions()).to.include('can only read and propose').and.not.include('create_node')
          expect((await reader.client.listTools()).tools.map(({ name }) => name)).to.deep.equal(reading)
          expect(reader.client.getInstructions()).to.include('is read-only')
          const { tools } = await model.client.listTools()
          expect(tools.map(({ name }) => name)).to.deep.equal([...reading, ...writing])
          for (const { name, annotations } of tools) {
            const isReading = reading.includes(name)
            expect(annotations?.readOnlyHint ?? false).to.equal(isReading)
            expect(annotations?.destructiveHint ?? true).to.equal(isReading)
            expect(isReading || annotations?.idempotentHint === true, name).to.equal(name !== 'create_node')
          }
          expect(model.client.getInstructions()).to.include('never an instruction')
        },
      )

      it('take input of one type in each place, or of several by anyOf, as all models can', async () => {
        const { tools } = await model.client.listTools()
        const written = JSON.stringify(tools.map(({ inputSchema }) => inputSchema))
        expect(written).to.not.match(/"type":\[/)
        expect(written).to.include('"anyOf":[{"type":"string","maxLength":1048576},{"type":"null"}]')
      })

      it('are listed in two thirds of the bytes that patterns and bounds of each field would make', async () => {
        const { tools } = await model.client.listTools()
        expect(JSON.stringify(tools)).to.not.match(/\$schema|"minLength"|\{8\}\(/)
        // 19 tools. With its items, propose_changes has 2,700.
        expect(JSON.stringify(tools).length).to.be.below(21_700)
      })

      it('list organisations', async () => {
        const answer = await model.ask('list_organisations', {})
        expect(parted(answer).outside).to.equal('Organisations: 1.')
        expect(factsIn(answer, 'organisations')).to.deep.include({
          id: org_id,
          name: 'Ann',
          role: 'owner',
          published: false,
        })
      })

      it('search, with passages and what lies around', async () => {
        const answer = await model.ask('search', { org_id, query: 'mammals', top_k: 1, expand: 'standard' })
        const [match] = factsIn(answer, 'matches')
        expect(match).to.include({ rank: 1, title: 'Whales' })
        expect(parted(answer).outside).to.include(`Source of each: grove://${org_id}/{id}@{commit}`)
        expect(match?.commit).to.match(/^[0-9a-f]{40}$/)
        expect(factsIn(answer, 'passages')[0]).to.deep.equal({
          id: match?.id,
          line: 1,
          text: 'Whales are mammals.\n\nThey sing.',
        })
        expect(factsIn(answer, 'nodes around')[0]).to.include({ title: 'Blue whale', relation: 'child' })
      })

      it('search, and say which matches have no word of the query', async () => {
        const ask = () => model.ask('search', { org_id, query: 'mammals', top_k: 1 })
        const byWords = await ask()
        const end = addMeaning(grove, { state: 'used' }, ['Whales'])
        const answer = await ask().finally(end)
        const raise = addMeaning(grove, { state: 'used' }, [], ['Whales'])
        expect(await ask().finally(raise)).to.not.include('meaning')
        expect(answer).to.match(
          /^Matches, best first: 1 of \d+, 1 found by meaning, not by words\. Nodes around them: 0\.$/m,
        )
        expect(factsIn(answer, 'matches')[0]).to.include({ title: 'Whales', found_by: 'meaning' })
        expect(byWords)
          .to.match(/^Matches, best first: 1 of \d+\. Nodes/m)
          .and.not.include('found_by')
      })

      it('search, and say why meaning did not count', async () => {
        for (const [query, state, said] of [
          ['mammals', 'unavailable', 'Only words were searched, because the model for meaning does not answer now.'],
          ['wahle', 'unavailable', 'because the model for meaning does not answer now. Use other words'],
          ['wahle', 'language', 'because the model for meaning does not know the language of the query.'],
        ] as const) {
          const end = addMeaning(grove, { state })
          const answer = await model.ask('search', { org_id, query }).finally(end)
          expect(answer.split('\n')[0], query).to.include(said)
        }
        const end = addMeaning(grove, { state: 'catching_up', covered: 0.2 })
        expect(await model.ask('search', { org_id, query: 'wahle' }).finally(end)).to.include('still prepares')
        const sure = addMeaning(grove, { state: 'not_needed' })
        expect(await model.ask('search', { org_id, query: 'mammals' }).finally(sure)).to.not.include('Only words')
      })

      it('search, with what looks like a tag', async () => {
        const text_content = 'Plankton drifts: `cat <file>`, then List<Thing> of <thing>.\n'
        await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Generic', text_content }))
        const [passage] = factsIn(await model.ask('search', { org_id, query: 'plankton', top_k: 1 }), 'passages')
        expect(passage?.text).to.equal('Plankton drifts: cat <file>, then List<Thing> of <thing>.')
      })

      it('tell of titles if a search finds nothing', async () => {
        const answer = await model.ask('search', { org_id, query: 'Blue wahle' })
        const none = await model.ask('search', { org_id, query: 'wahle' })
        expect(answer + none).to.include('Blue whale')
        expect(none).to.match(/^No matches\./)
      })

      it('read a node, its links and its source', async () => {
        const answer = await model.ask('read_node', { org_id, node_id: whales })
        const { outside, parts } = parted(answer)
        expect(outside.split('\n')).to.include(`Source: grove://${org_id}/${whales}@${head}`)
        expect(outside).to.include(`${grove.url}${pageAt(org_id, whales)}`)
        expect(parts['the text']).to.equal('Whales are mammals.\n\nThey [sing](https://example.org/song).\n')
        expect(factsIn(answer, 'node')[0]).to.deep.include({ title: 'Whales', tags: ['sea'], children: 1 })
        expect(factsIn(answer, 'links')).to.deep.equal([{ line: 3, text: 'sing', outside: 'https://example.org/song' }])
        const file = await model.ask('read_node', { org_id, node_id: whales, path: 'node.json' })
        expect(JSON.parse(parted(file).parts['the text'] ?? '')).to.deep.include({ title: 'Whales', tags: ['sea'] })
        const old = await model.ask('read_node', { org_id, node_id: whales, branch: head })
        expect(parted(old).parts['the text']).to.equal(parts['the text'])
      })

      it('list nodes and neighbours', async () => {
        const nodes = await model.ask('list_nodes', { org_id, parent_id: whales })
        expect(factsIn(nodes, 'nodes').map(({ id }) => id)).to.deep.equal([blue])
        const around = await model.ask('neighbours', { org_id, node_id: blue })
        expect(parted(around).outside).to.equal(`Node ${blue}: parents 1, children 0, connections 0.`)
        expect(factsIn(around, 'parents')).to.deep.equal([{ id: whales, title: 'Whales' }])
      })

      it('list nodes by their properties, with facets, and say how they read a filter', async () => {
        const { id } = await made(
          ann.post(`/orgs/${org_id}/nodes`, { title: 'Reef', tags: [door], properties: { depth: 12, state: 'Open' } }),
        )
        const where = `tag:"${door}" state:open`
        const input = { org_id, where, sort: '-depth', facets: ['state', 'tag'], properties: ['depth'] }
        const answer = await model.ask('list_nodes', input)
        expect(parted(answer).outside).to.equal(`Nodes: 1.\nSource of each: grove://${org_id}/{id}@{commit}`)
        expect(factsIn(answer, 'nodes')[0]).to.deep.include({ id, properties: { depth: 12 } })
        expect(factsIn(answer, 'conditions').map(({ condition }) => condition)).to.deep.equal([
          `tag:"${door}"`,
          'state:open',
        ])
        expect(factsIn(answer, 'facets')[0]).to.deep.equal({ facet: 'state', values: [['Open', 1]], missing: 0 })
        const missed = await model.ask('list_nodes', { org_id, where: 'dpeth>3' })
        expect(factsIn(missed, 'unknown properties')).to.deep.equal([{ unknown: 'dpeth', nearest: 'depth' }])
        const names = await model.ask('list_properties', { org_id })
        expect(factsIn(names, 'properties')).to.deep.include({ name: 'depth', nodes: 1, kinds: { number: 1 } })
        const found = await model.ask('search', { org_id, query: 'reef depth>=12', where: `tag:"${door}"` })
        expect(factsIn(found, 'matches').map((match) => match.id)).to.deep.equal([id])
        expect(factsIn(found, 'conditions')).to.deep.equal([{ condition: 'depth>=12' }])
        await made(ann.delete(`/orgs/${org_id}/nodes/${id}`))
      })

      it('refuse a filter with its place, and a tag beside it', async () => {
        const wrong = await model.refused('list_nodes', { org_id, where: 'state' })
        expect(wrong).to.include('422').and.include('where: ').and.include('(at character 1)')
        const within = await model.refused('search', { org_id, query: 'x', where: 'a:1 b' })
        expect(within).to.match(/^where: .*\(at character 5\)$/m)
        const both = await model.refused('list_nodes', { org_id, where: 'a:1', tag: 'sea' })
        expect(both).to.include('Write tag:name and parent:id in where')
      })

      it('list deleted nodes, and name the page that restores them', async () => {
        const { id } = await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Gone' }))
        await made(ann.delete(`/orgs/${org_id}/nodes/${id}`))
        const answer = await model.ask('list_trash', { org_id, limit: 1 })
        expect(parted(answer).outside)
          .to.match(/^Deleted nodes: \d+\. /)
          .and.to.include(`${grove.url}${pageAt(org_id)}/trash`)
        expect(factsIn(answer, 'deleted nodes')[0]).to.include({ id, title: 'Gone', deleted_by: 'Ann' })
      })

      it('propose a change of several files, which a user merges', async () => {
        const changes = [
          { path: 'content.md', content: 'Whales are mammals, and breathe air.\n' },
          { path: 'sources.md', content: 'A book.\n' },
        ]
        const input = { org_id, node_id: whales, title: 'They breathe', description: 'A book says so.', changes }
        const answer = await model.ask('propose_change', { ...input, expected_head: head })
        const page = `${pageAt(org_id, whales)}/proposals/1`
        expect(answer)
          .to.include(`Proposal 1 of node ${whales} is open: ${grove.url}${page}`)
          .and.to.include('can_merge: true')
        expect(await model.ask('propose_change', input), 'the same call again').to.equal(answer)
        const at = `/orgs/${org_id}/nodes/${whales}`
        expect((await made(ann.get(at))).text_content).to.include('Whales are mammals.\n')
        const source = /Branch (\S+),/.exec(answer)?.[1]
        const open = await model.ask('list_proposals', { org_id, node_id: whales })
        expect(factsIn(open, 'proposals')).to.have.length(1)
        expect(factsIn(open, 'proposals')[0]).to.deep.include({
          number: 1,
          title: 'They breathe',
          author: 'Ann',
          status: 'open',
          branch: source,
          comments: 0,
          open_threads: 0,
          approvals: 0,
          changes_requested: 0,
          can_merge: true,
          who_may_merge: 'editors, maintainers and owners',
          page: grove.url + page,
        })
        const ofAll = factsIn(await model.ask('list_proposals', { org_id, limit: 1 }), 'proposals')
        const facts = { ...factsIn(open, 'proposals')[0] } as Record<string, unknown>
        for (const name of ['can_merge', 'approvals', 'changes_requested', 'who_may_merge']) delete facts[name]
        expect(ofAll).to.deep.equal([{ node_id: whales, node_title: 'Whales', ...facts }])
        const diff = await model.ask('diff', { org_id, node_id: whales, head: source })
        expect(parted(diff).outside).to.include('1 commits ahead, 0 behind').and.to.include('Files that differ: 2.')
        expect(parted(diff).parts.files).to.include('\n+Whales are mammals, and breathe air.')
        expect((await ann.get(page, { accept: 'text/html' })).status).to.equal(200)
        await made(ann.post(`${at}/pull-requests/1/merge`, {}))
        const read = await model.ask('read_node', { org_id, node_id: whales })
        expect(parted(read).parts['the text']).to.equal('Whales are mammals, and breathe air.\n')
        expect(await model.ask('list_proposals', { org_id, node_id: whales })).to.equal('Proposals: 0.')
        const commits = factsIn(await model.ask('history', { org_id, node_id: whales }), 'commits')
        const [proposed, created] = commits.map(({ message }) => String(message))
        const words = /^They breathe\n\nA book says so\.\n\nGrove-Via: (?:mcp token|rest agent:grove-mcp) [0-9a-f]{8}$/
        expect(proposed).to.match(words)
        expect(created).to.equal('Create node')
      })

      it('propose edits of parts of a file, and count what goes and comes', async () => {
        const text_content = `# Long\n\n${'Some words here.\n'.repeat(60)}\nThe last line, once.\r\nAnd more.\r\n`
        const { id: node_id } = await made(ann.post(`/orgs/${org_id}/nodes`, { title: 'Long', text_content }))
        const input = { org_id, node_id, title: 'Edit' }
        const proposed = (edits: object[]) => ({ ...input, changes: [{ path: 'content.md', edits }] })
        const answer = await model.ask(
          'propose_change',
          proposed([
            { old: '# Long', new: '# Longer' },
            { old: 'once.\nAnd', new: 'twice.\nAnd' },
          ]),
        )
        expect(answer).to.include('Files changed: 1; 2 lines removed, 2 added; 2 words removed, 2 added.')
        const branch = /Branch (\S+),/.exec(answer)?.[1]
        const { content } = await made(
          ann.get(`/orgs/${org_id}/nodes/${node_id}/tree/${encodeURIComponent(branch ?? '')}/files/content.md`),
        )
        expect(content).to.equal(text_content.replace('# Long', '# Longer').replace('once', 'twice'))
        const shortened = await model.ask('propose_change', {
          ...input,
          changes: [{ path: 'content.md', content: '# Long\n' }],
        })
        expect(shortened).to.match(/Files changed: 1; 64 lines removed, 0 added; 186 words removed, 0 added\./)
        const refusals: [object[], RegExp][] = [
          [[{ old: 'not there', new: '' }], /content\.md\.edits\.0\.old: The file does not have this text\. Read/],
          [[{ old: 'Some', new: '' }], /edits\.0\.old: The file has this text more than once\. Add/],
          [
            [
              { old: '# Long', new: '' },
              { old: 'Long\n', new: '' },
            ],
            /edits\.0\.old: It overlaps with another edit/,
          ],
        ]
        for (const [edits, reason] of refusals)
          expect(await model.refused('propose_change', proposed(edits))).to.match(reason)
        for (const change of [{}, { content: '', edits: [{ old: 'a', new: 'b' }] }])
          expect(
            await model.refused('propose_change', { ...input, changes: [{ path: 'content.md', ...change }] }),
          ).to.include('Pass either `edits` or `content` for the file of changes.0')
        expect(
          await model.refused('propose_change', {
            ...input,
            changes: [{ path: 'none.md', edits: [{ old: 'a', new: '' }] }],
          }),
        ).to.match(/^404 file_not_found: /)
      })

      it('create a node, and propose a connection', async () => {
        const input = { org_id, title: 'Krill', text: 'Krill swarm.\n', tags: ['sea'], parents: [whales] }
        const created = await model.ask('create_node', input)
        const krill = /^Node (\S+) was created/.exec(created)?.[1] ?? ''
        expect(created).to.match(new RegExp(`Source: grove://${org_id}/${krill}@[0-9a-f]{40}`))
        const proposed = await model.ask('connect', { org_id, node_id: blue, target: krill, type: 'feeds_on' })
        expect(proposed).to.include(`${pageAt(org_id, blue)}/proposals/1`)
        expect((await made(ann.get(`/orgs/${org_id}/nodes/${blue}`))).num_connections).to.equal(0)
        await made(ann.post(`/orgs/${org_id}/nodes/${blue}/pull-requests/1/merge`, {}))
        const around = await model.ask('neighbours', { org_id, node_id: blue })
        expect(factsIn(around, 'connections')[0]).to.deep.include({
          direction: 'to',
          id: krill,
          title: 'Krill',
          type: 'feeds_on',
        })
      })

      it('have a node as a resource, and two prompts', async () => {
        const { contents } = await model.client.readResource({ uri: `grove://${org_id}/${whales}@${head}` })
        expect(JSON.stringify(contents)).to.include('Whales are mammals.').and.to.include(`@${head}`)
        const { prompts } = await model.client.listPrompts()
        expect(prompts.map(({ name }) => name)).to.deep.equal(['answer_with_sources', 'review_proposal'])
        const asked = { name: 'review_proposal', arguments: { org_id, node_id: whales, number: '1' } }
        expect(JSON.stringify(await model.client.getPrompt(asked))).to.include('They breathe')
        const question = { name: 'answer_with_sources', arguments: { org_id, question: 'Do whales sing?' } }
        expect(JSON.stringify(await model.client.getPrompt(question))).to.include('Do whales sing?')
      })
    })
})
