/** The picture of the README: a node of a field guide, and a proposal to change it. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { made } from '../support/cast.ts'
import type { Grove } from '../support/grove.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, password, signUp } from '../support/people.ts'

type Page = Awaited<ReturnType<Browser['newPage']>>
type Browser = Awaited<ReturnType<typeof import('../support/browser.ts').launchBrowser>>

const size = { width: 1120, height: 800 }

const notes = {
  'Blue whale': 'The blue whale is the largest animal known. It feeds on [[Krill]], up to four tonnes a day.\n',
  Krill: 'Krill are small crustaceans. They live in swarms and feed on plankton.\n',
  Baleen: 'Baleen are plates of keratin through which whales such as the [[Blue whale]] filter [[Krill]].\n',
  'Humpback whale':
    'Humpback whales blow rings of bubbles around [[Krill]] and small fish, and swim up with open mouths.\n',
}

const guide = `Baleen whales filter their food from the water. Most of them eat [[Krill]].

## How they feed

They take a mouthful of water and press it out through their [[Baleen]]. The food stays behind.

| whale | length | food |
|---|---|---|
| [[Blue whale]] | 30 m | krill |
| [[Humpback whale]] | 16 m | krill, small fish |

> [!tip] Where to see them
> In summer off Iceland, in winter off the Azores.
`

/** Writes `readme.png`, `welcome-light.webp` and `welcome-dark.webp` to `dir`. */
export async function takeReadmePicture(grove: Grove, browser: Browser, dir: string): Promise<void> {
  const ann = await signUp(grove, 'Nora')
  const bob = await signUp(grove, 'Bob')
  const { org, node } = await fieldGuide(ann, bob)
  const paths = [pageAt(org, node), `${pageAt(org, node)}/proposals/1`]
  for (const colorScheme of ['light', 'dark'] as const) {
    const shots = await shotsOf({ grove, browser, ann, paths, colorScheme })
    const frame = await (await browser.newContext({ viewport: { width: 1480, height: 1010 } })).newPage()
    const show = (background: string) => frame.setContent(framed(shots, background))
    if (colorScheme === 'light') {
      await show('#eef1ec')
      await frame.screenshot({ path: join(dir, 'readme.png') })
    }
    await show('transparent')
    const png = (await frame.screenshot({ omitBackground: true })).toString('base64')
    await writeFile(join(dir, `welcome-${colorScheme}.webp`), await asWebp(frame, png))
    await frame.context().close()
  }
}

interface Shooting {
  readonly grove: Grove
  readonly browser: Browser
  readonly ann: PersonClient
  readonly paths: readonly string[]
  readonly colorScheme: 'light' | 'dark'
}

/** Takes pictures of the pages, in base64. */
async function shotsOf({ grove, browser, ann, paths, colorScheme }: Shooting): Promise<string[]> {
  const page = await (await browser.newContext({ viewport: size, colorScheme })).newPage()
  await page.goto(`${grove.url}/sign-in`)
  await page.getByLabel('E-mail').fill(ann.user.email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Signed in as Nora').waitFor()
  const shots: string[] = []
  for (const path of paths) {
    await page.goto(grove.url + path)
    shots.push((await page.screenshot()).toString('base64'))
  }
  await page.context().close()
  return shots
}

function framed(shots: readonly string[], background: string): string {
  const images = shots.map((shot) => `<img src="data:image/png;base64,${shot}">`).join('')
  return `<style>
    body { margin: 0; background: ${background} }
    img { position: absolute; width: 1000px; border-radius: 10px; outline: 1px solid #8884; box-shadow: 0 8px 40px #0004 }
    img:first-of-type { left: 40px; top: 40px }
    img:last-of-type { right: 40px; bottom: 40px }
  </style>${images}`
}

/** Encodes a picture as the browser does. Two of them and the fonts fit into a page of 200 KB. */
async function asWebp(page: Page, png: string): Promise<Buffer> {
  const url = await page.evaluate(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${png}'
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = image.width
    canvas.height = image.height
    canvas.getContext('2d').drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', 0.72)
  })()`)
  return Buffer.from(String(url).replace(/^data:image\/webp;base64,/, ''), 'base64')
}

async function fieldGuide(ann: PersonClient, bob: PersonClient): Promise<{ org: string; node: string }> {
  const { id: org } = await made(ann.post('/orgs', { name: 'Field guide' }))
  await made(ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'editor' }))
  const { id: sea } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Life in the sea' }))
  const { id: node } = await made(
    ann.post(`/orgs/${org}/nodes`, {
      title: 'Baleen whales',
      text_content: guide,
      tags: ['whales', 'feeding'],
      parents: [sea],
    }),
  )
  for (const [title, text_content] of Object.entries(notes)) {
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title, text_content, parents: [node] }))
    await made(ann.post(`/orgs/${org}/nodes/${node}/connections`, { target: id, type: 'links_to' }))
  }
  const at = `/orgs/${org}/nodes/${node}`
  await made(bob.post(`${at}/branches`, { name: 'right-whales' }))
  const content = guide
    .replace('Most of them eat [[Krill]].', 'Most of them eat [[Krill]]; right whales prefer copepods.')
    .replace('| krill, small fish |\n', '| krill, small fish |\n| Right whale | 17 m | copepods |\n')
  await made(
    bob.post(`${at}/tree/right-whales/commits`, {
      message: 'Add right whales, which eat copepods',
      changes: [{ action: 'put', path: 'content.md', content }],
    }),
  )
  await made(
    bob.post(`${at}/pull-requests`, {
      source_branch: 'right-whales',
      title: 'Add right whales',
      description: 'From the field notes of March.',
    }),
  )
  return { org, node }
}
