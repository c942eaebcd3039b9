/**
 * Takes pictures of every page, light and dark, at three widths: `npm run shots -- DIR [VAULT]`.
 *
 * With a vault, it also imports it and takes pictures whose names begin with `vault-`. `readme.png` is the picture of the
 * README, `server/pages/grove.png`. `welcome-light.webp` and `welcome-dark.webp` are those of the page for visitors.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { launchBrowser } from '../support/browser.ts'
import { startGrove } from '../support/grove.ts'
import { password, signUp } from '../support/people.ts'
import { listPages } from './every-page.ts'
import { takeReadmePicture } from './readme-picture.ts'
import { listVaultPages } from './vault-pages.ts'

const widths = [390, 820, 1440]

const [dir, vault] = process.argv.slice(2)
if (dir === undefined) throw new Error('Usage: npm run shots -- DIR [VAULT]')
await mkdir(dir, { recursive: true })
const grove = await startGrove()
const browser = await launchBrowser()
try {
  await takeReadmePicture(grove, browser, dir)
  const ann = await signUp(grove, 'Ann')
  const pages = [
    ...(await listPages(grove, ann)),
    ...(vault === undefined ? [] : await listVaultPages(grove, ann, vault)),
  ]
  for (const colorScheme of ['light', 'dark'] as const)
    for (const isAnonymous of [true, false]) {
      const page = await (await browser.newContext({ colorScheme })).newPage()
      if (!isAnonymous) {
        await page.goto(`${grove.url}/sign-in`)
        await page.getByLabel('E-mail').fill(ann.user.email)
        await page.getByLabel('Password').fill(password)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByLabel('Signed in as Ann').waitFor()
      }
      for (const { name, path } of pages.filter((one) => (one.isAnonymous ?? false) === isAnonymous)) {
        await page.goto(grove.url + path)
        for (const width of widths) {
          await page.setViewportSize({ width, height: 900 })
          // The map is drawn in the next frame.
          await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
          await page.screenshot({ path: join(dir, `${name}-${colorScheme}-${width}.png`), fullPage: true })
        }
      }
      await page.context().close()
    }
} finally {
  await browser.close()
  await grove.close()
}
