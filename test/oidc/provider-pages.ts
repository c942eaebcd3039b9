/** The pages of a real provider, in a browser. */

import type { Page } from 'playwright-core'

/** Fills in the login page of the provider, and allows what this service asks for. */
export async function passInBrowser(page: Page, login: string): Promise<void> {
  await page.locator('input[name=login]').fill(login)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' })
  await page.locator('button[type=submit]').click()
}
