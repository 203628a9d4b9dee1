/*
 * What the panel and xfdesktop load before GTK, so that they do less at their start: they read the desktop's theme,
 * 250 KB, twice instead of twelve and three times, and start no service that nobody uses yet. Without it both look and
 * work the same, and start more slowly.
 *
 * The declarations are those of the stable interfaces of GObject and GTK, so that no headers have to be installed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct { void *type; const char *name; } ParamSpec;
typedef struct {
  void *type;
  void *construct_properties;
  void *functions[6];
  void (*notify)(void *object, ParamSpec *property);
} ObjectClass;

extern void g_object_get(void *object, const char *property, ...);
extern char *g_strdup(const char *text);
extern void *gtk_css_provider_get_default(void);
extern void g_async_initable_new_valist_async(unsigned long type, const char *property, va_list rest, int priority,
                                              void *cancellable, void *callback, void *data);

/* Programs that these two start are not meant. */
__attribute__((constructor)) static void forget(void) { unsetenv("LD_PRELOAD"); }

/*
 * GTK reads its theme again whenever a program asks for the dark variant, even if it shows that one, and the panel
 * asks once for each of its plugins. Requests that change nothing end here.
 */
static const char variant[] = "gtk-application-prefer-dark-theme";
static void (*pass_on)(void *settings, ParamSpec *property);
static int is_dark;

static void notify(void *settings, ParamSpec *property) {
  if (strcmp(property->name, variant) == 0) {
    int wanted = is_dark;
    g_object_get(settings, variant, &wanted, NULL);
    if (wanted == is_dark) return;
    is_dark = wanted;
  }
  pass_on(settings, property);
}

void *gtk_settings_get_default(void) {
  void *(*original)(void) = dlsym(RTLD_NEXT, "gtk_settings_get_default");
  void *settings = original();
  if (settings && !pass_on) {
    g_object_get(settings, variant, &is_dark, NULL);
    ObjectClass *class = *(ObjectClass **)settings;
    pass_on = class->notify;
    class->notify = notify;
  }
  return settings;
}

/*
 * xfdesktop reads the theme once more and prints it as text, its pictures too, to find out whether it has rules for
 * "XfdesktopIconView". Our theme has none. Others are read.
 */
static const char ours[] = "Arc-Darker";
static void *unread;

void *gtk_css_provider_get_named(const char *name, const char *variant_name) {
  if (!variant_name && strcmp(name, ours) == 0) return unread = gtk_css_provider_get_default();
  void *(*original)(const char *, const char *) = dlsym(RTLD_NEXT, "gtk_css_provider_get_named");
  return original(name, variant_name);
}

char *gtk_css_provider_to_string(void *provider) {
  if (provider == unread) return g_strdup("");
  char *(*original)(void *) = dlsym(RTLD_NEXT, "gtk_css_provider_to_string");
  return original(provider);
}

/*
 * A service starts when it is sent its first message, not when a program gets ready to send one: the panel's clock
 * prepares for logind, and xfdesktop for Thunar.
 */
enum { do_not_start_at_construction = 1 << 4 };

void *g_dbus_proxy_new_for_bus_sync(int bus, int flags, void *info, const char *name, const char *path,
                                    const char *interface, void *cancellable, void **error) {
  void *(*original)(int, int, void *, const char *, const char *, const char *, void *, void **) =
      dlsym(RTLD_NEXT, "g_dbus_proxy_new_for_bus_sync");
  return original(bus, flags | do_not_start_at_construction, info, name, path, interface, cancellable, error);
}

static void forward(unsigned long type, int priority, void *cancellable, void *callback, void *data,
                    const char *property, ...) {
  va_list rest;
  va_start(rest, property);
  g_async_initable_new_valist_async(type, property, rest, priority, cancellable, callback, data);
  va_end(rest);
}

/* xfdesktop's generated proxies pass these five properties, in this order. */
void g_async_initable_new_async(unsigned long type, int priority, void *cancellable, void *callback, void *data,
                                const char *property, ...) {
  va_list rest;
  va_start(rest, property);
  if (property && strcmp(property, "g-flags") == 0) {
    const int flags = va_arg(rest, int) | do_not_start_at_construction;
    const char *names[4] = {0};
    void *values[4] = {0};
    for (int at = 0; at < 4 && (names[at] = va_arg(rest, const char *)); at++) values[at] = va_arg(rest, void *);
    forward(type, priority, cancellable, callback, data, property, flags, names[0], values[0], names[1], values[1],
            names[2], values[2], names[3], values[3], NULL);
  } else {
    g_async_initable_new_valist_async(type, property, rest, priority, cancellable, callback, data);
  }
  va_end(rest);
}
