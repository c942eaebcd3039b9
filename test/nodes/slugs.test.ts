/** Readable names of nodes. */

import { expect } from 'chai'
import { expecting } from '../support/node.ts'
import { ann, make, read, useScene } from './scene.ts'

describe('nodes', () => {
  useScene()

  describe('the slug', () => {
    for (const [title, slug] of [
      ['Whales', 'whales'],
      ['  Blue   whale, 1986–2024! ', 'blue-whale-1986-2024'],
      ["Ann's notes/drafts: a\\b", 'anns-notes-drafts-a-b'],
      ['../../etc/passwd', 'etc-passwd'],
      ['.git', 'git'],
      ['--upload-pack=x', 'upload-pack-x'],
      ['Ｗｈａｌｅ ①', 'whale-1'],
      ['Süßwasser und Äsche', 'süßwasser-und-äsche'],
      ['A\u0308sche', 'äsche'],
      ['ΑΒΓ Δέλτα', 'αβγ-δέλτα'],
      ['鲸鱼 和 大海', '鲸鱼-和-大海'],
      ['ปลาวาฬ', 'ปลาวาฬ'],
      ['हिन्दी में व्हेल', 'हिन्दी-में-व्हेल'],
      ['co\u00adop\u200berate', 'cooperate'],
      ['\u0301 \u0301x', 'x'],
      ['🐋', 'node'],
      ['... / ...', 'node'],
      [`${'x'.repeat(59)} and more`, 'x'.repeat(59)],
      ['🐋'.repeat(400), 'node'],
      ['𝒳'.repeat(100), 'x'.repeat(60)],
      ['𐐀'.repeat(100), '𐐨'.repeat(60)],
    ] as const)
      it(`of ${JSON.stringify(title.slice(0, 30))} is ${slug.slice(0, 30)}`, async () => {
        const { id, at } = await make({ title })
        const { body } = await ann.get(at)
        expect([body.slug, body.clone_url.split(`/${id}/`)[1]]).to.deep.equal([slug, `${slug}.git`])
      })

    it('follows the title, in the node and in the list, and may be that of another node', async () => {
      const [one, other] = [await make({ title: 'Whales' }), await make({ title: 'whales?' })]
      expect([(await read(one)).slug, (await read(other)).slug]).to.deep.equal(['whales', 'whales'])
      const { body } = await ann.patch(one.at, { title: 'Dolphins' }).then(expecting(200))
      expect(body.slug).to.equal('dolphins')
      const { nodes } = (await ann.get(`/orgs/${ann.org}/nodes?limit=200`)).body
      const listed = nodes.filter(({ id }: { id: string }) => id === one.id || id === other.id)
      expect(listed.map(({ slug }: { slug: string }) => slug)).to.deep.equal(['dolphins', 'whales'])
    })
  })
})
