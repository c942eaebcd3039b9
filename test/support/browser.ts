/** Debian's Chromium: `apt-get install chromium-headless-shell`, which has no windows and computes a third less than `chromium`. */
import { type Browser, chromium } from 'playwright-core'

/** Milliseconds for which a browser or a page is waited for, on a machine that does much else. */
export const patience = 120_000

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    timeout: patience,
    // Tests run as root in containers, whose /dev/shm may be small.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}
