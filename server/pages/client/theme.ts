/** Light or dark as it was chosen; the only script that runs before a page is drawn. */
// Style sheets learn that scripts run.
document.documentElement.dataset.script = ''

try {
  const { theme } = localStorage
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // A browser that keeps nothing follows the system.
}
