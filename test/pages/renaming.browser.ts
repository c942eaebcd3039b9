/** Links after a rename, and second pages of a title, in a browser: with script and without. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt, withoutWords } from '../support/pages.ts'
import { ann, newVisitor, reached, signIn, useScene } from './scene.ts'

describe('in a browser', () => {
  useScene()

  const add = async (title: string, text_content = ''): Promise<string> =>
    (await made(ann.post(`/orgs/${ann.org}/nodes`, { title, text_content }))).id
  const textOf = async (id: string) => (await ann.get(`/orgs/${ann.org}/nodes/${id}`)).body.text_content

  for (const javaScriptEnabled of [true, false])
    describe(javaScriptEnabled ? 'with script' : 'without script', () => {
      const suffix = javaScriptEnabled ? 'one' : 'two'
      const visitor = async () => {
        const visit = await newVisitor({ javaScriptEnabled })
        await signIn(visit)
        return visit
      }
      /** Waits for the editor, whose script takes the place of the field. */
      const edit = async ({ page, open }: Awaited<ReturnType<typeof visitor>>, id: string) => {
        await open(`${pageAt(ann.org, id)}/edit`)
        await page.locator(javaScriptEnabled ? '.cm-content' : 'textarea[name=text]').waitFor()
      }

      it('a new title is written in the texts that are ticked', async () => {
        const [old, name] = [`Otters ${suffix}`, `Sea otters ${suffix}`]
        const otters = await add(old)
        const [first, second] = [await add(`First ${suffix}`), await add(`Second ${suffix}`)]
        for (const id of [first, second]) {
          await made(ann.patch(`/orgs/${ann.org}/nodes/${id}`, { text_content: `Here are [[${old}|they]] again.` }))
          await made(ann.post(`/orgs/${ann.org}/nodes/${id}/connections`, { target: otters, type: 'links_to' }))
        }
        const visit = await visitor()
        const { page, faults } = visit
        await edit(visit, otters)
        await page.getByLabel('Title', { exact: true }).fill(name)
        await page.getByRole('button', { name: 'Save' }).click()
        await reached(page, 'Update links')
        await page.getByText(`Here are [[${old}|they]] again.`).first().waitFor()
        await page.getByLabel(`Second ${suffix}`, { exact: true }).uncheck()
        await page.getByRole('button', { name: 'Update links' }).click()
        await page.getByRole('heading', { name: 'Updated: 1 page' }).waitFor()
        expect([await textOf(first), await textOf(second)]).to.deep.equal([
          `Here are [[${name}|they]] again.`,
          `Here are [[${old}|they]] again.`,
        ])
        await page.getByRole('link', { name: `Open ${name}` }).click()
        await reached(page, name)
        expect(faults).to.deep.equal([])
        await page.context().close()
      })

      it('a second page of a title is created by a second button', async () => {
        const title = `Whales ${suffix}`
        const whales = await add(title)
        const visit = await visitor()
        const { page, open, faults } = visit
        await open(`${pageAt(ann.org)}/new`)
        await page.locator(javaScriptEnabled ? '.cm-content' : 'textarea[name=text]').waitFor()
        await page.getByLabel('Title', { exact: true }).fill(title)
        await page.getByRole('button', { name: 'Save' }).click()
        const link = page.getByRole('link', { name: title, exact: true })
        expect(withoutWords((await link.getAttribute('href')) ?? '')).to.equal(pageAt(ann.org, whales))
        await page.getByRole('button', { name: 'Create a second page' }).click()
        await reached(page, title)
        const { nodes } = (await ann.get(`/orgs/${ann.org}/nodes?limit=200`)).body
        expect(nodes.filter((node: { title: string }) => node.title === title)).to.have.length(2)
        expect(faults).to.deep.equal([])
        await page.context().close()
      })
    })
})
