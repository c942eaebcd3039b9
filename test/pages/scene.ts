/** Shared by the tests of pages. It has a service and a browser for each file, and the checks of every page. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect } from 'chai'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { launchBrowser, patience } from '../support/browser.ts'
import { type Grove, type GroveOptions, startGrove } from '../support/grove.ts'
import { type PersonClient, password, signUp } from '../support/people.ts'

export let grove: Grove
export let ann: PersonClient
let browser: Browser

/** A service and a browser of its own for each file. @param prepare starts what the service needs */
export function useScene(prepare: () => Promise<GroveOptions> = async () => ({})): void {
  before(async () => {
    grove = await startGrove(await prepare())
    ann = await signUp(grove, 'Ann')
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    await grove.close()
  })
}

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>

export interface Visitor {
  readonly page: Page
  readonly context: BrowserContext
  /** Opens a path of the service. */
  open(path: string): Promise<{ readonly status: number }>
  /** The console's messages that no test expects, and requests to other hosts. */
  readonly faults: readonly string[]
}

/** A browser with nothing kept. */
export async function newVisitor(options: ContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(patience)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', ({ message }) => faults.push(message))
  page.on('console', (message) => {
    // The driver speaks of its speed where a map is drawn without a graphics card.
    const isExpected = /status of (401|403|404|409|422)|GL Driver Message \(OpenGL, Performance/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isExpected) faults.push(message.text())
  })
  page.on('request', (request) => {
    // A picture that a script has in memory is not a request to another host.
    const url = request.url().replace(/^blob:/, '')
    if (!url.startsWith(grove.url)) faults.push(`a request to ${url}`)
  })
  const open = async (path: string) => {
    const answer = await page.goto(grove.url + path)
    return { status: answer?.status() ?? 0 }
  }
  return { page, context, open, faults }
}

/** Signs in by the form. */
export async function signIn({ page, open }: Visitor, person: PersonClient = ann): Promise<void> {
  await open('/sign-in')
  await page.getByLabel('E-mail').fill(person.user.email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel(`Signed in as ${person.user.name}`).waitFor()
}

/** Waits for the page of this heading, until it is there as a whole and hears its keys. */
export async function reached(page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { name: heading, level: 1, exact: true }).waitFor()
  await page.waitForLoadState()
}

/** The editor's suggestions. A list that still waits for the last letter takes no key, so it does not count. */
export function completion(page: Page, name: string): Locator {
  const list = page.locator('.cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled)')
  return list.getByRole('option', { name, exact: true })
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')

/** The elements that Swagger UI draws. It has a second main landmark, selects without names, and too little contrast. */
const notOurs = '#spec'

/** Neither axe-core, by all its rules or those that are named, nor the width of the window finds fault with what is shown. */
export async function expectSound(page: Page, rules?: readonly string[]): Promise<void> {
  // Not as an element: the policy of pages refuses a script that is not theirs.
  if (await page.evaluate('!("axe" in window)')) await page.evaluate(axe)
  const isReference = (await page.locator(notOurs).count()) > 0
  const options = JSON.stringify({
    ...(rules !== undefined && { runOnly: rules }),
    ...(isReference && { rules: { 'landmark-no-duplicate-main': { enabled: false } } }),
  })
  const found = await page.evaluate(`axe.run({ exclude: ['${notOurs}'] }, ${options}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' ')))`)
  expect(found, page.url()).to.deep.equal([])
  const beyond = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
  expect(beyond, `sideways scroll of ${page.url()}`).to.be.at.most(0)
}
