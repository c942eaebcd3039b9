/** `grove import` of a vault, the first time and again. */

import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { gitLines } from '../support/data-folder.ts'
import { ann, type Finished, folderOf, grove, importAs, linksIn, nodesOf, orgIn, useService, vault } from './command.ts'

describe('import', () => {
  useService()

  describe('of a vault', () => {
    let folder: string
    let org: string
    let first: Finished

    before(async () => {
      folder = await folderOf('Garden', vault)
      first = await importAs(folder)
      org = orgIn(first)
    })

    it('says what it made and what it could not place, progress apart on standard error', () => {
      expect(first).to.deep.include({ code: 0 })
      expect(first.stdout).to.equal(
        `Garden (${org}): 5 nodes, 4 parent edges, 3 connections, 1 attachment
5 created, 0 updated, 0 unchanged
1 link has no target here:
  1 to a missing file
    plants/rose.md: [[Nowhere]]
`,
      )
      expect(first.stderr).to.match(
        /^(Reading \d+ % \d\/6\n)*Reading 100 % 6\/6\n(Writing \d+ % \d+\/5\n)*Writing 100 % 5\/5\n$/,
      )
    })

    it("makes an organisation of the folder's name, the importer's own", async () => {
      expect((await ann.get(`/orgs/${org}`)).body).to.include({ name: 'Garden', role: 'owner', published: false })
    })

    it('turns folders into parents, links into connections, front matter into tags and properties', async () => {
      const nodes = await nodesOf(org)
      expect([...nodes.keys()].sort()).to.deep.equal(['All plants', 'Rose', 'The garden', 'Thorn', 'Zebra'])
      const rose = (await ann.get(`/orgs/${org}/nodes/${nodes.get('Rose')?.id}`)).body
      expect(rose).to.deep.include({
        tags: ['flower', 'red'],
        properties: { height: 120, source_path: 'plants/rose.md' },
        text_content: vault['plants/rose.md']?.toString().split('---\n')[2],
        num_ancestors: 2,
      })
      expect(titles(rose.parents)).to.deep.equal(['All plants'])
      expect(await linksIn(org)).to.deep.equal(['Rose→Thorn sharp ends', 'The garden→Rose roses', 'Thorn→Rose rose'])
      const tagged = await ann.get(`/orgs/${org}/nodes?tag=flower`)
      expect(titles(tagged.body.nodes)).to.deep.equal(['Rose'])
    })

    it('keeps a picture in the node that shows it, byte by byte', async () => {
      const node = `/orgs/${org}/nodes/${(await nodesOf(org)).get('Rose')?.id}`
      const path = encodeURIComponent('attachments/pictures/rose.png')
      const { body } = await ann.get(`${node}/tree/main/files/${path}`)
      expect(Buffer.from(body.content, body.encoding)).to.deep.equal(vault['pictures/rose.png'])
    })

    it.deep('is found by search in the service that was running all the while', async () => {
      const { body } = await ann.post(`/orgs/${org}/search/retrieve`, {
        query: 'zoologist',
        expansion_depth: 'deep',
      })
      expect(titles(body.matches)).to.deep.equal(['Thorn'])
      expect(titles(body.nodes).sort()).to.deep.equal(['All plants', 'Rose', 'The garden', 'Thorn'])
    })

    it('commits nothing the second time', async () => {
      const before = await nodesOf(org)
      const again = await importAs(folder)
      expect(again.code).to.equal(0)
      expect(again.stdout).to.contain(`Garden (${org})`).and.contain('\n0 created, 0 updated, 5 unchanged\n')
      expect(await nodesOf(org)).to.deep.equal(before)
    })

    it('makes one commit of an edited file, none of any other', async () => {
      const before = await nodesOf(org)
      await writeFile(join(folder, 'zebra.md'), '# Zebra\n\nEats the roses.\n')
      const again = await importAs(folder)
      expect(again.stdout).to.contain('\n0 created, 1 updated, 4 unchanged\n')
      const after = await nodesOf(org)
      const zebra = after.get('Zebra')
      const path = `/orgs/${org}/nodes/${zebra?.id}/tree/main/commits`
      const { history, total } = (await ann.get(path)).body
      expect({ total, ...history[0] }).to.deep.include({ total: 2, message: 'Import zebra.md', author: 'Ann' })
      expect(history[0].parent_commits).to.deep.equal([before.get('Zebra')?.head])
      before.delete('Zebra')
      after.delete('Zebra')
      expect(after).to.deep.equal(before)
    })

    it('takes back what was edited in Grove, and keeps it in the history', async () => {
      const node = `/orgs/${org}/nodes/${(await nodesOf(org)).get('Thorn')?.id}`
      await ann.patch(node, { text_content: 'Edited here.', tags: ['mine'] })
      expect((await importAs(folder)).stdout).to.contain('\n0 created, 1 updated, 4 unchanged\n')
      expect((await ann.get(node)).body).to.deep.include({ text_content: vault['plants/thorn.md'], tags: [] })
      const { history } = (await ann.get(`${node}/tree/main/commits`)).body
      expect(history.map((commit: { message: string }) => commit.message)).to.include('Edit node')
    })

    it('names a node whose file is gone, and keeps it', async () => {
      await rm(join(folder, 'zebra.md'))
      const again = await importAs(folder)
      expect(again.code).to.equal(0)
      expect(again.stdout).to.contain('kept, although its file is gone: zebra.md (Zebra)\n')
      expect([...(await nodesOf(org)).keys()]).to.include('Zebra')
      await writeFile(join(folder, 'zebra.md'), vault['zebra.md'] ?? '')
      expect((await importAs(folder)).stdout)
        .to.contain('\n0 created, 1 updated, 4 unchanged\n')
        .and.not.contain('kept')
    })

    it('brings back a node that was deleted in Grove', async () => {
      const node = `/orgs/${org}/nodes/${(await nodesOf(org)).get('Thorn')?.id}`
      expect((await ann.delete(node)).status).to.equal(204)
      expect((await importAs(folder)).stdout).to.contain('\n1 created, 0 updated, 4 unchanged\n')
      expect(await linksIn(org)).to.deep.equal(['Rose→Thorn sharp ends', 'The garden→Rose roses', 'Thorn→Rose rose'])
    })
  })

  it('leaves repositories that git finds nothing wrong with', async () => {
    const folder = await folderOf('Sound', vault)
    const org = orgIn(await importAs(folder))
    for (const { id } of (await nodesOf(org)).values()) {
      const repo = join(grove.dataDir, org, `${id}.git`)
      expect(await gitLines(repo, 'fsck', '--full', '--strict', '--no-progress')).to.deep.equal([])
    }
  })
})

function titles(nodes: { title: string }[]): string[] {
  return nodes.map((node) => node.title)
}
