/** Every page is sound in light and dark, narrow, wide and enlarged, and says nothing in the console. */

import { expect } from 'chai'
import { listPages, type ShownPage } from './every-page.ts'
import { ann, expectSound, grove, newVisitor, signIn, useScene } from './scene.ts'

/** CSS pixels; 720 is 1440 at 200 %. */
const widths = [390, 720, 1440]

/** A dark page is the light one in other colours. */
const rules = { light: undefined, dark: ['color-contrast'] } as const

describe('every page', () => {
  useScene()
  let pages: readonly ShownPage[]

  before(async () => {
    pages = await listPages(grove, ann)
  })

  for (const colorScheme of ['light', 'dark'] as const)
    for (const isAnonymous of [true, false])
      it(`is sound in ${colorScheme}, ${isAnonymous ? 'for anyone' : 'signed in'}`, async () => {
        const visitor = await newVisitor({ colorScheme })
        if (!isAnonymous) await signIn(visitor)
        for (const shown of pages.filter((one) => (one.isAnonymous ?? false) === isAnonymous)) {
          await visitor.open(shown.path)
          for (const width of widths) {
            await visitor.page.setViewportSize({ width, height: 900 })
            await expectSound(visitor.page, rules[colorScheme])
          }
          expect(visitor.faults, shown.name).to.deep.equal([])
        }
        await visitor.context.close()
      })
})
