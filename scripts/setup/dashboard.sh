# The dashboard, which the server gives to browsers.

dashboard_ready() { "$modules/.bin/node" "$repo/scripts/build-dashboard.ts" --check; }

dashboard_title() { echo 'Dashboard: building the page that browsers get'; }

dashboard_make() {
  attempt 'building the dashboard' last_line "$modules/.bin/node" "$repo/scripts/build-dashboard.ts" ||
    explain 'dashboard' 'Run `npm ci`, then this again.'
}
