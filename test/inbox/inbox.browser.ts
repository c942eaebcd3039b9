/** The inbox in a browser: sound in light and dark, and the buttons that follow. */
import { expect } from 'chai'
import { ann, expectSound, grove, newVisitor, signIn, useScene } from '../pages/scene.ts'
import { expecting, newNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { signUp } from '../support/people.ts'
import { edit } from './scene.ts'

describe('the inbox in a browser', () => {
  useScene()

  for (const colorScheme of ['light', 'dark'] as const)
    it(`is sound in ${colorScheme}, and follows a page from its menu`, async () => {
      const bob = await signUp(grove, `Bob ${colorScheme}`)
      await ann.put(`/orgs/${ann.org}/members/${bob.user.email}`, { role: 'editor' }).then(expecting(200))
      const node = await newNode(grove, ann, { title: 'Whales' })
      const visitor = await newVisitor({ colorScheme })
      await signIn(visitor)
      const { page } = visitor
      await visitor.open(pageAt(node.org, node.id))
      await page.getByLabel('More actions').click()
      await page.getByRole('button', { name: 'Follow with subpages' }).click()
      await page.getByLabel('More actions').click()
      await page.getByRole('button', { name: 'Unfollow' }).waitFor()
      await edit(bob, node, 'Blue whales')
      await visitor.open('/me/inbox')
      const item = page.getByRole('listitem').filter({ hasText: 'Blue whales' }).first()
      await item.getByRole('img', { name: 'Unread' }).waitFor()
      for (const width of [390, 720, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        await expectSound(page, colorScheme === 'light' ? undefined : ['color-contrast'])
        const { GROVE_SHOTS: folder } = process.env
        if (folder !== undefined) await page.screenshot({ path: `${folder}/inbox-${colorScheme}-${width}.png` })
      }
      await page.getByRole('button', { name: 'Mark all as read' }).click()
      await item.getByRole('img', { name: 'Unread' }).waitFor({ state: 'detached' })
      expect(visitor.faults).to.deep.equal([])
      await visitor.context.close()
    })
})
